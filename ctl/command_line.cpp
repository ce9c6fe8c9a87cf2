// The only file that includes CLI11: it takes seconds to compile.
#include "ctl/command_line.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "base/text.hpp"

namespace ctl {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates,
                         std::string_view prefix = {}) {
  const auto close = base::nearest(word, candidates);
  return close ? "; did you mean '" + std::string(prefix) + std::string(*close) + "'?" : "";
}

std::string joined(std::span<const std::string_view> words, std::string_view separator) {
  return base::join(std::vector<std::string>(words.begin(), words.end()), separator);
}

// How many words the option takes that stands before the command; 0: it is none of those.
std::size_t leading_option(std::string_view word) {
  for (const OptionRow& row : option_rows()) {
    if (!row.global) continue;
    const std::size_t separate_value = row.kind == ValueKind::none ? 0 : 1;
    if (word == "--" + std::string(row.name)) return 1 + separate_value;
    if (word.starts_with("--" + std::string(row.name) + "=")) return 1;
    if (row.letter && word.starts_with(std::string("-") + row.letter))
      return word.size() > 2 ? 1 : 1 + separate_value;
  }
  return 0;
}

// One row with the values that the command line gives it.
struct Given {
  const OptionRow* row = nullptr;
  CLI::Option* option = nullptr;
  std::vector<std::string> values = {};
};

class Parser {
 public:
  explicit Parser(const OptionSources& sources) : sources_(sources) {}

  Result<Options> parse() {
    std::vector<std::string> words = sources_.arguments;
    if (auto found = take_command(words); !found) return std::move(found).error();
    if (auto parsed = parse_words(std::move(words)); !parsed) return std::move(parsed).error();
    read_environment();
    read_command_line();  // last, so that it wins
    if (problems_.empty() && !options_.help) check_arguments();
    if (problems_.empty()) return std::move(options_);
    return Error(ErrorCode::invalid, base::join(problems_, "\n") + hint());
  }

 private:
  // Takes the command's one or two words out of `words`.
  Result<void> take_command(std::vector<std::string>& words) {
    std::size_t at = 0;
    while (at < words.size() && words[at].starts_with('-')) {
      if (words[at] == "--version") options_.version = true;
      const std::size_t taken = words[at] == "--version" ? 1 : leading_option(words[at]);
      if (taken == 0)
        return Error(ErrorCode::invalid, "'" + words[at] + "' cannot stand before the command" + hint());
      at += taken;
    }
    if (auto found = find_words(words, at); !found) return found;
    // Behind the command it means nothing, unless that has an option of this name.
    const OptionRow* version = find_option("version");
    if (!options_.command || !version || !options_.command->has_option(*version))
      std::erase(words, "--version");
    return {};
  }

  // The command that begins at this word; its words are taken out.
  Result<void> find_words(std::vector<std::string>& words, std::size_t at) {
    if (options_.version || at >= words.size()) return {};
    const std::string group = words[at];
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(at);
    if (const CommandRow* row = find_command(group)) {
      options_.command = row;
      words.erase(first);
      return {};
    }
    const auto below = subcommands(group);
    if (below.empty()) {
      const auto groups = command_groups();
      return Error(ErrorCode::invalid,
                   "there is no command '" + group + "'" + did_you_mean(group, groups) + hint());
    }
    if (at + 1 >= words.size() || words[at + 1].starts_with('-')) {
      const bool wants_help =
          std::ranges::any_of(words, [](const auto& word) { return word == "--help" || word == "-h"; });
      if (wants_help) {
        options_.group = group;
        words.erase(first);
        return {};
      }
      return Error(ErrorCode::invalid, "what with it? opsctl " + group + " " + joined(below, "|") + hint());
    }
    options_.command = find_command(group + " " + words[at + 1]);
    if (!options_.command)
      return Error(ErrorCode::invalid, "there is no command '" + group + " " + words[at + 1] + "'" +
                                           did_you_mean(words[at + 1], below, group + " ") +
                                           "\nthere is: opsctl " + group + " " + joined(below, "|") + hint());
    words.erase(first, first + 2);
    return {};
  }

  Result<void> parse_words(std::vector<std::string> words) {
    CLI::App app;
    app.set_help_flag();
    app.allow_extras();
    for (const OptionRow& row : option_rows())
      if (options_.command ? options_.command->has_option(row) : row.global) given_.push_back({.row = &row});
    for (Given& given : given_) {
      std::string names = "--" + std::string(given.row->name);
      if (given.row->letter) names += std::string(",-") + given.row->letter;
      if (given.row->kind == ValueKind::none)
        given.option = app.add_flag(names);
      else
        given.option = app.add_option(names)->expected(1)->allow_extra_args(false);
      given.option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
    std::ranges::reverse(words);  // as CLI11 wants them
    try {
      app.parse(std::move(words));
    } catch (const CLI::ParseError& error) {
      return Error(ErrorCode::invalid, std::string(error.what()) + hint());
    }
    for (Given& given : given_)
      given.values = given.option->results();
    return take_arguments(app.remaining());
  }

  // What CLI11 did not know: the command's arguments, and mistakes.
  Result<void> take_arguments(const std::vector<std::string>& remaining) {
    bool only_arguments = false;
    for (const std::string& word : remaining) {
      if (!only_arguments && word == "--")
        only_arguments = true;
      else if (only_arguments || word == "-" || !word.starts_with('-'))
        options_.arguments.push_back(word);
      else
        return unknown_option(word);
    }
    return {};
  }

  Result<void> unknown_option(std::string_view word) const {
    const std::string_view name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    std::string text = "there is no option '" + std::string(word.substr(0, word.find('='))) + "'";
    if (options_.command) text += " for '" + std::string(options_.command->name) + "'";
    std::vector<std::string_view> names;
    for (const Given& given : given_)
      names.push_back(given.row->name);
    return Error(ErrorCode::invalid,
                 text + did_you_mean(name.substr(0, name.find('=')), names, "--") + hint());
  }

  void check_arguments() {
    const CommandRow* row = options_.command;
    if (!row) return;
    if (options_.arguments.size() > row->most)
      problems_.push_back("'" + options_.arguments[row->most] + "' is one argument too many");
    else if (options_.arguments.size() < row->least)
      problems_.push_back("something is missing: opsctl " + std::string(row->name) + " " +
                          std::string(row->arguments));
  }

  std::string hint() const {
    const std::string command = options_.command ? std::string(options_.command->name) + " " : "";
    return "\n'opsctl " + command + "--help' explains " + (command.empty() ? "the commands" : "it");
  }

  void store(const OptionRow& row, std::string_view value, const std::string& where) {
    auto stored = row.store(options_, value);
    if (!stored) problems_.push_back(where + " " + stored.error().message());
  }

  void read_command_line() {
    for (const Given& given : given_)
      for (const std::string& value : given.values)
        store(*given.row, given.row->kind == ValueKind::none && value == "true" ? "" : value,
              "--" + std::string(given.row->name));
  }

  void read_environment() {
    for (const Given& given : given_) {
      if (!given.row->environment) continue;
      const std::string name = environment_name(*given.row);
      const char* value = sources_.environment(name.c_str());
      if (value && *value) store(*given.row, value, name);
    }
  }

  const OptionSources& sources_;
  Options options_;
  std::vector<Given> given_;
  std::vector<std::string> problems_;
};

}  // namespace

Result<Options> parse_options(const OptionSources& sources) {
  return Parser(sources).parse();
}

}  // namespace ctl
