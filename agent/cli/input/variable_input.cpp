#include "agent/cli/input/variable_input.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "agent/cli/commands/version.hpp"
#include "agent/facts/facts.hpp"
#include "agent/inputs/machine_secrets.hpp"
#include "agent/inputs/recipe_facts.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "recipe/document.hpp"
#include "recipe/file_source.hpp"

namespace agent::cli {

using base::Error;
using base::ErrorCode;
using base::Result;

Result<std::string> variables_of(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return Error(ErrorCode::invalid, "'" + std::string(assignment) + "' is no NAME=VALUE");
  const std::string_view value = assignment.substr(equals + 1);
  std::string text, end;
  for (const std::string_view part : base::split(assignment.substr(0, equals), '.')) {
    if (part.empty()) return Error(ErrorCode::invalid, "the name of a variable has an empty part");
    text += "{" + base::json_quote(part) + ": ";
    end += "}";
  }
  // Words and numbers stay undecided, as they are in a file; brackets are lists and mappings.
  const bool is_word = !value.empty() &&
                               std::ranges::all_of(value,
                                                   [](unsigned char c) {
                                                     return std::isalnum(c) != 0 || c == '_' || c == '.' ||
                                                            c == '+' || c == '-' || c == '/';
                                                   }) &&
                               value.front() != '-'
                           ? true
                           : base::parse_integer(value).has_value();
  const bool is_structure = value.starts_with('[') || value.starts_with('{') || value.starts_with('"');
  if (is_structure) {
    base::Arena arena;
    const auto parsed = recipe::parse_yaml(value, arena);
    if (const auto* wrong = std::get_if<base::SyntaxProblem>(&parsed))
      return Error(ErrorCode::invalid,
                   "the value of " + std::string(assignment.substr(0, equals)) + ": " + wrong->message);
  }
  text += is_word || is_structure ? std::string(value) : base::json_quote(value);
  return text + end;
}

inputs::SecretSettings secret_settings(const Options& options) {
  const char* credentials = std::getenv("CREDENTIALS_DIRECTORY");
  return {.folder = options.secrets_dir,
          .credentials = credentials ? credentials : "",
          .program = options.secret_program};
}

Result<recipe::Inputs> recipe_inputs(const Options& options, const std::string& path, std::string_view text,
                                     bool is_check) {
  constexpr std::size_t kLargestVariables = 4 * 1024 * 1024;
  recipe::Inputs given{.is_check = is_check, .compat_v1 = !options.strict};
  for (const std::string& file : options.vars_files) {
    auto values = base::read_file(file, kLargestVariables);
    if (!values) return std::move(values).error();
    given.vars.push_back({file, std::move(*values)});
  }
  for (const std::string& assignment : options.vars) {
    auto values = variables_of(assignment);
    if (!values) return std::move(values).error().with_context("--var");
    given.vars.push_back({"--var", std::move(*values)});
  }
  given.files = recipe::files_beside(path);
  given.explain = options.explain;
  if (is_check) return given;
  for (const std::string& tag : options.tags)
    given.tags[tag.substr(0, tag.find('='))] = tag.substr(tag.find('=') + 1);
  given.app = options.app_id;
  given.instance = options.instance_id;
  given.agent["version"] = kVersion;
  // Looking at the machine takes some milliseconds.
  const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  if (has("${{") || has("template") || has("include"))
    given.facts =
        inputs::recipe_facts(facts::gather({.version = std::string(kVersion), .tags = given.tags}).json);
  given.secrets = std::make_shared<inputs::MachineSecrets>(secret_settings(options));
  return given;
}

std::vector<recipe::Problem> unused_variables(const Options& options, const std::string& path,
                                              std::string_view text) {
  if (options.vars.empty()) return {};
  recipe::Document document;
  document.text = text;
  document.syntax = recipe::guess_syntax(path, text);
  const auto files = recipe::files_beside(path);
  const auto used = recipe::used_variables(path, std::string(text), files.get());
  if (!used || recipe::parse(document)) return {};
  std::set<std::string, std::less<>> known;
  if (const base::Value* own = document.root.find("vars"))
    for (const base::Member& member : own->members())
      known.emplace(member.key);
  for (const recipe::UsedVariables::Use& use : used->uses) {
    if (use.path.front() != "vars") continue;
    if (use.path.size() == 1) return {};
    known.insert(use.path[1]);
  }
  const std::vector<std::string_view> names(known.begin(), known.end());
  std::vector<recipe::Problem> unused;
  for (const std::string& assignment : options.vars) {
    const std::string_view name = std::string_view(assignment).substr(0, assignment.find_first_of(".="));
    if (!known.contains(name))
      unused.push_back({.message = "--var " + std::string(name) + ": the recipe has no such variable" +
                                   base::did_you_mean(name, names)});
  }
  return unused;
}

}  // namespace agent::cli
