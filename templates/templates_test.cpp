#include "templates/templates.hpp"

#include <map>

#include <doctest/doctest.h>

#include "base/values/json.hpp"

using templates::Problem;
using templates::Template;

namespace {

templates::Variables variables(std::string_view json) {
  static base::Arena arena;
  templates::Variables given;
  const auto parsed = base::parse_json(json, arena);
  for (const base::Member& member : std::get<base::Value>(parsed).members())
    given.set(member.key, member.value);
  return given;
}

struct Folder : templates::Loader {
  templates::Answer<std::shared_ptr<const Template>> load(std::string_view name) override {
    const auto found = files.find(std::string(name));
    if (found == files.end()) return std::shared_ptr<const Template>();
    return Template::parse(name, found->second);
  }
  std::map<std::string, std::string> files;
};

std::string rendered(std::string_view source, std::string_view json = "{}",
                     const templates::Limits& limits = {}, templates::Loader* loader = nullptr) {
  const auto parsed = Template::parse("t.j2", source);
  if (const auto* wrong = std::get_if<Problem>(&parsed)) return describe(*wrong);
  const auto given = variables(json);
  const auto made = render(*std::get<0>(parsed), given, loader, limits);
  if (const auto* wrong = std::get_if<Problem>(&made)) return describe(*wrong);
  return std::get<std::string>(made);
}

bool says(const std::string& text, std::string_view part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE(text);
  return found;
}

}  // namespace

TEST_CASE("a problem in a template has its line and column") {
  CHECK(rendered("a\nbc {{ missing }}\n") == "t.j2:2:7: 'missing' is not defined");
  CHECK(says(rendered("{{ 1 +\n  }}"), "t.j2:2:3: expected an expression"));
  CHECK(says(rendered("ü{{ nope }}"), "t.j2:1:5:"));
  CHECK(says(rendered("{{ 1 }}\n\n{{ 5 / (1 - 1) }}"), "t.j2:3:6: division by zero"));
  CHECK(says(rendered("{{ name|uper }}"), "did you mean 'upper'?"));
}

TEST_CASE("a problem in an included template names that template") {
  Folder folder;
  folder.files["part"] = "\n{{ nope }}";
  CHECK(says(rendered("{% include 'part' %}", "{}", {}, &folder), "part:2:4: 'nope' is not defined"));
  CHECK(says(rendered("{% include 'other' %}", "{}", {}, &folder), "there is no template 'other'"));
  CHECK(says(rendered("{% include 'part' %}"), "there is no template 'part'"));
}

TEST_CASE("a template that never ends, or grows without end, is ended") {
  const templates::Limits few{.steps = 100'000, .output = 1 << 20, .memory = 8 << 20, .depth = 200};
  CHECK(says(rendered("{% for i in range(1000000000) %}{% endfor %}", "{}", few), "more than"));
  CHECK(says(rendered("{% set l = [1] %}{% for i in l %}{% do l.append(1) %}{% endfor %}", "{}", few),
             "more than"));
  CHECK(says(rendered("{{ 'abcdefgh' * 10000000 }}", "{}", few), "more than"));
  CHECK(says(rendered("{{ [1] * 1000000000 }}", "{}", few), "more than"));
  CHECK(says(rendered("{{ 'x'.ljust(100000000) }}", "{}", few), "more than"));
  CHECK(says(rendered("{{ '%100000000d' % 1 }}", "{}", few), "too large"));
  CHECK(says(rendered("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{}", few), "deeper than"));
  CHECK(says(rendered("{% set l = [] %}{% do l.append(l) %}{{ l }}", "{}", few), "deeper than"));
  CHECK(says(rendered("{% set l = [] %}{% do l.append(l) %}{{ l == [l] }}", "{}", few), "deeper than"));
  CHECK(says(rendered("{% for i in range(100000) %}0123456789012345678901234567890{% endfor %}", "{}", few),
             "more than"));
  Folder folder;
  folder.files["self"] = "{% include 'self' %}";
  CHECK(says(rendered("{% include 'self' %}", "{}", few, &folder), "deeper than"));
  CHECK(says(rendered(std::string(5000, '(').insert(0, "{{")), "deeper than"));
  std::string nested;
  for (int i = 0; i < 5000; ++i)
    nested += "{% if 1 %}";
  CHECK(says(rendered(nested), "deeper than"));
}

TEST_CASE("a template cannot change what it was given") {
  CHECK(says(rendered("{% do given.append(1) %}", R"({"given": [1]})"), "cannot change what it was given"));
  CHECK(says(rendered("{% do given.update(a=1) %}", R"({"given": {}})"), "cannot change what it was given"));
  CHECK(rendered("{% set own = given | list %}{% do own.append(2) %}{{ own }}", R"({"given": [1]})") ==
        "[1, 2]");
}

TEST_CASE("a template reaches nothing but its variables") {
  CHECK(says(rendered("{{ ''.__class__ }}"), "is not available"));
  CHECK(says(rendered("{{ ''['__class__'] }}"), "is not available"));
  CHECK(says(rendered("{{ [] | attr('__class__') }}"), "is not available"));
  CHECK(says(rendered("{{ x | map(attribute='__class__') | list }}", R"({"x": [1]})"), "is not available"));
  CHECK(says(rendered("{{ '{0.__class__}'.format(1) }}"), "no attributes"));
  CHECK(says(rendered("{{ self }}"), "not defined"));
  CHECK(says(rendered("{{ lookup('env', 'HOME') }}"), "'lookup' is not defined"));
}

TEST_CASE("integers of more than 64 bits are refused") {
  CHECK(says(rendered("{{ 9223372036854775807 + 1 }}"), "larger than 64 bits"));
  CHECK(says(rendered("{{ 9223372036854775808 }}"), "larger than 64 bits"));
  CHECK(says(rendered("{{ 10 ** 30 }}"), "larger than 64 bits"));
  CHECK(rendered("{{ -9223372036854775807 - 1 }}") == "-9223372036854775808");
}

TEST_CASE("an expression keeps the type of its value") {
  base::Arena arena;
  const auto given = variables(R"({"ports": [80, 443], "name": "a", "on": true})");
  const auto value = [&](std::string_view source) -> std::string {
    const auto parsed = Template::parse_expression("r.yaml", source, {12, 20});
    if (const auto* wrong = std::get_if<Problem>(&parsed)) return describe(*wrong);
    const auto made = evaluate(*std::get<0>(parsed), given, arena);
    if (const auto* wrong = std::get_if<Problem>(&made)) return describe(*wrong);
    return base::to_json(std::get<base::Value>(made));
  };
  CHECK(value("ports") == "[80,443]");
  CHECK(value("ports[0] + 1") == "81");
  CHECK(value("{'a': on, 'b': none}") == R"({"a":true,"b":null})");
  CHECK(value("ports | map('string') | list") == R"(["80","443"])");
  CHECK(value("nope") == "r.yaml:12:20: 'nope' is not defined");
  CHECK(says(value("name }} x"), "r.yaml:12:25:"));
  CHECK(says(value("range"), "no value that can be kept"));
}

TEST_CASE("what a template needs is known before it is rendered") {
  const auto parsed = Template::parse(
      "t", "{% set a = b %}{% for c in d %}{{ c ~ e.f ~ loop.index }}{% endfor %}{{ range(2) }}");
  std::string names;
  for (const auto& name : std::get<0>(parsed)->needed_names())
    names += name.name + " ";
  CHECK(names == "b d e ");
}

TEST_CASE("YAML's scalars without quotes mean what people write") {
  templates::Variables given;
  for (const std::string_view text : {"yes", "12", "0644", "1.50", "~", "-3", "1e3", "12:30", "v1"})
    given.set("v" + std::string(text), base::Value::plain(text));
  base::Arena arena;
  std::string all;
  for (const std::string_view text : {"yes", "12", "0644", "1.50", "~", "-3", "1e3", "12:30", "v1"}) {
    templates::Variables one;
    one.set("v", base::Value::plain(text));
    const auto parsed = Template::parse("t", "{{ [v] }}");
    all += std::get<std::string>(render(*std::get<0>(parsed), one));
  }
  CHECK(all == "[True][12]['0644'][1.5][None][-3][1000.0]['12:30']['v1']");
}

TEST_CASE("text that is not UTF-8 is refused") {
  CHECK(says(rendered("\xff\xfe"), "not valid UTF-8"));
}
