#include <algorithm>
#include <set>

#include "agent/cli/commands/commands.hpp"
#include "agent/cli/commands/recipe_reader.hpp"
#include "agent/cli/input/recipe_input.hpp"
#include "base/text.hpp"
#include "base/values/json_text.hpp"
#include "recipe/lint/lint.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

namespace {

using recipe::lint::Finding;
using recipe::lint::Rule;

// Whatever else: of a file that could not be read nobody knows what is in it.
constexpr int kNotRead = 2;

std::string shown_name(const std::string& path) {
  return path == "-" ? "<stdin>" : path;
}

// The file that a finding is in, seen from where the recipe was named.
std::string file_of(const std::string& recipe, const std::string& included) {
  if (included.empty()) return shown_name(recipe);
  const std::size_t slash = recipe.rfind('/');
  return (slash == std::string::npos ? "" : recipe.substr(0, slash + 1)) + included;
}

class LintRun {
 public:
  LintRun(const Options& options, terminal::Console& console, RecipeReader reader)
      : options_(options), console_(console), reader_(std::move(reader)) {}

  int run() {
    json_.begin_object().key("findings").begin_list();
    for (const std::string& path : options_.arguments)
      look_at(path);
    json_.end_list().key("problems").json(problems_.end_list().take());
    json_.member("ok", found_ == 0 && !has_failed_).end_object();
    if (options_.json)
      console_.out.json(json_.take());
    else if (found_ == 0 && !has_failed_ && !options_.quiet)
      console_.out.line(options_.arguments.size() == 1
                            ? options_.argument() + ": nothing found"
                            : std::to_string(options_.arguments.size()) + " files: nothing found");
    return has_failed_ ? kNotRead : found_ > 0 ? kFailure : kOk;
  }

 private:
  void look_at(const std::string& path) {
    const recipe::Loaded loaded = reader_.load_file(path);
    if (!loaded.recipe) {
      has_failed_ = true;
      if (!options_.json) return show_problems(loaded, path, console_);
      for (const recipe::Problem& problem : loaded.problems)
        add_problem(path, problem);
      return;
    }
    for (const Finding& finding :
         recipe::lint::lint(*loaded.recipe, {options_.with_rules, options_.without_rules})) {
      const std::string file = file_of(path, finding.file);
      // A file that several recipes include is told of once.
      const std::string place = file + ":" + std::to_string(finding.position.line) + ":" +
                                std::to_string(finding.position.column) + ": ";
      if (!told_.insert(place + std::string(finding.rule->name) + finding.message).second) continue;
      ++found_;
      if (options_.json)
        add(file, finding);
      else
        show(place, finding);
    }
  }

  void show(const std::string& place, const Finding& finding) {
    const Rule& rule = *finding.rule;
    const std::string id = finding.state_id.empty() ? "" : "[" + finding.state_id + "] ";
    console_.out.line(terminal::printable(place + id + finding.message) + " " +
                      console_.paint(terminal::Style::yellow, "(" + std::string(rule.name) + ")"));
    if (!options_.quiet)
      console_.out.line("    " + std::string(rule.reason) + "\n    fix: " + std::string(rule.fix));
  }

  void add(const std::string& file, const Finding& finding) {
    json_.begin_object().member("file", file);
    json_.member("line", finding.position.line).member("column", finding.position.column);
    if (!finding.state_id.empty()) json_.member("id", finding.state_id);
    json_.member("rule", finding.rule->name).member("message", finding.message);
    json_.member("reason", finding.rule->reason).member("fix", finding.rule->fix).end_object();
  }

  void add_problem(const std::string& path, const recipe::Problem& problem) {
    problems_.begin_object().member("file", file_of(path, problem.file));
    if (problem.position.line > 0)
      problems_.member("line", problem.position.line).member("column", problem.position.column);
    if (!problem.state_id.empty()) problems_.member("id", problem.state_id);
    problems_.member("message", problem.message).end_object();
  }

  const Options& options_;
  terminal::Console& console_;
  RecipeReader reader_;
  base::JsonText json_;
  base::JsonText problems_ = std::move(base::JsonText().begin_list());
  std::set<std::string> told_;
  std::size_t found_ = 0;
  bool has_failed_ = false;
};

void list_rules(const Options& options, terminal::Console& console) {
  base::JsonText json;
  json.begin_object().key("rules").begin_list();
  for (const Rule& rule : recipe::lint::rules()) {
    if (options.json) {
      json.begin_object().member("name", rule.name).member("finds", rule.finds);
      json.member("reason", rule.reason).member("fix", rule.fix);
      json.member("only_when_asked_for", rule.is_asked_for).end_object();
      continue;
    }
    console.out.line(console.paint(terminal::Style::bold, rule.name) +
                     (rule.is_asked_for ? "  (only with --with)" : ""));
    if (options.quiet) continue;
    console.out.line("    " + std::string(rule.finds) + "\n    " + std::string(rule.reason) +
                     "\n    fix: " + std::string(rule.fix));
  }
  if (options.json) console.out.json(json.end_list().end_object().take());
}

// That a rule is misspelt must not look like one that is off.
base::Result<void> check_rules(const std::vector<std::string>& given) {
  std::vector<std::string_view> names;
  for (const Rule& rule : recipe::lint::rules())
    names.push_back(rule.name);
  for (const std::string& name : given)
    if (!recipe::lint::find_rule(name))
      return base::Error(base::ErrorCode::invalid, "there is no rule '" + name + "'" +
                                                       base::did_you_mean(name, names) +
                                                       "\n'opsagent lint --rules' lists them");
  return {};
}

}  // namespace

int lint_command(const Options& options, terminal::Console& console) {
  for (const auto* given : {&options.with_rules, &options.without_rules})
    if (auto known = check_rules(*given); !known) {
      console.complain(known.error().message());
      return kFailure;
    }
  if (options.lint_rules) {
    list_rules(options, console);
    return kOk;
  }
  if (options.arguments.empty()) {
    console.complain("which recipe? opsagent lint FILE");
    return kFailure;
  }
  // What a run passes over with a warning, in recipes of version 1, is what people ask for here.
  Options strictly = options;
  strictly.strict = true;
  auto reader = RecipeReader::open(strictly, fetch_lines(options, console), true);
  if (!reader) {
    console.complain(reader.error().message());
    return kFailure;
  }
  return LintRun(options, console, std::move(*reader)).run();
}

}  // namespace agent::cli
