// Our templates against Jinja2 itself: the same bytes, or both refuse. conformance/oracle.py is the other
// side.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include <doctest/doctest.h>

#include "base/values/json.hpp"
#include "templates/templates.hpp"

namespace {

const std::string kFolder = std::string(OPSAGENT_SOURCE_DIR) + "/templates/conformance/";

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Data : templates::Loader {
  Data() : text(read(kFolder + "data.json")) {
    const base::Value root = std::get<base::Value>(base::parse_json(text, arena));
    for (const base::Member& member : root.find("variables")->members())
      variables.set(member.key, member.value);
    sources = *root.find("templates");
  }
  templates::Answer<std::shared_ptr<const templates::Template>> load(std::string_view name) override {
    const base::Value* source = sources.find(name);
    if (!source) return std::shared_ptr<const templates::Template>();
    return templates::Template::parse(name, source->text(), options);
  }

  std::string text;
  base::Arena arena;
  templates::Variables variables;
  base::Value sources;
  templates::Options options;
};

struct Lines {
  explicit Lines(const std::string& arguments)
      : pipe(popen(("/usr/bin/python3 " + kFolder + "oracle.py " + arguments).c_str(), "r")) {}
  ~Lines() {
    if (pipe) CHECK(pclose(pipe) == 0);
  }
  bool next(std::string& line) {
    line.clear();
    for (int c = 0; (c = std::fgetc(pipe)) != EOF && c != '\n';)
      line += static_cast<char>(c);
    return !line.empty();
  }
  FILE* pipe;
};

// "text % what": Python looks at what is not there only if the text has a place for it.
bool is_ignored_by_python(const std::string& source, const std::string& problem) {
  // One item is compared with none, so that its key is not looked at.
  if (source.find("groupby(") != std::string::npos && problem.find(" has no '") != std::string::npos)
    return true;
  if (source.find(" % ") == std::string::npos) return false;
  for (const char* missing : {"is not defined", " has no ", "the list is empty"})
    if (problem.find(missing) != std::string::npos) return true;
  return false;
}

// How many cases there were, with how many the reference has rendered.
struct Count {
  int all = 0, rendered = 0, different = 0;
};

Count compare(const std::string& arguments) {
  Data data;
  Lines lines(arguments);
  Count count;
  for (std::string line; lines.next(line);) {
    base::Arena arena;
    const auto parsed = base::parse_json(line, arena);
    REQUIRE(std::holds_alternative<base::Value>(parsed));
    const base::Value row = std::get<base::Value>(parsed);
    data.options = {row.find("trim_blocks")->as_bool().value(), row.find("lstrip_blocks")->as_bool().value(),
                    row.find("keep_trailing_newline")->as_bool().value()};
    const std::string source(row.find("template")->text());
    const base::Value* expected = row.find("output");
    ++count.all;
    if (expected) ++count.rendered;
    std::string ours, problem;
    const auto parsed_template = templates::Template::parse("t", source, data.options);
    if (const auto* wrong = std::get_if<templates::Problem>(&parsed_template)) {
      problem = describe(*wrong);
    } else {
      const auto made = templates::render(*std::get<0>(parsed_template), data.variables, &data);
      if (const auto* failed = std::get_if<templates::Problem>(&made))
        problem = describe(*failed);
      else
        ours = std::get<std::string>(made);
    }
    const bool same = expected ? problem.empty() && ours == expected->text() : !problem.empty();
    // What is refused on purpose is written in docs/templates.md.
    const bool on_purpose =
        expected && (problem.find("larger than 64 bits") != std::string::npos ||
                     problem.find("is not available in templates") != std::string::npos ||
                     problem.find("cannot be shown as text") != std::string::npos ||
                     problem.find("cannot change what it was given") != std::string::npos ||
                     problem.find("object cannot be sliced") != std::string::npos ||
                     is_ignored_by_python(source, problem));
    if (same || on_purpose) continue;
    if (++count.different > 40) continue;
    const base::Value* error = row.find("error");
    MESSAGE("template: " << source);
    CHECK_MESSAGE(false, "expected: " << (expected ? "'" + std::string(expected->text()) + "'"
                                                   : "an error: " + std::string(error ? error->text() : ""))
                                      << "\n     ours: " << (problem.empty() ? "'" + ours + "'" : problem));
  }
  return count;
}

}  // namespace

TEST_CASE("every template of the corpus is rendered as by Jinja2, or refused by both") {
  const Count count = compare("corpus " + kFolder + "corpus.txt");
  CHECK(count.different == 0);
  CHECK(count.all >= 300 * 4);
  CHECK(count.rendered >= 250 * 4);
}

TEST_CASE("random templates are rendered as by Jinja2, or refused by both") {
  const char* cases = std::getenv("OPSAGENT_TEMPLATE_CASES");
  const char* seed = std::getenv("OPSAGENT_TEMPLATE_SEED");
  const std::string wanted = cases ? cases : "3000";
  const Count count = compare("random " + std::string(seed ? seed : "1") + " " + wanted);
  MESSAGE(count.all << " templates, of which Jinja2 renders " << count.rendered);
  CHECK(count.different == 0);
  CHECK(count.all >= std::atoi(wanted.c_str()) * 9 / 10);
  CHECK(count.rendered > count.all / 5);
}
