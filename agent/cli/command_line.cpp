// The only file that includes CLI11: it takes seconds to compile.
#include "agent/cli/command_line.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include <CLI/CLI.hpp>

#include "base/config_file.hpp"
#include "base/file_read.hpp"
#include "base/text.hpp"

namespace agent::cli {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Setting;

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates,
                         std::string_view prefix = {}) {
  const auto close = base::nearest(word, candidates);
  return close ? "; did you mean '" + std::string(prefix) + std::string(*close) + "'?" : "";
}

std::string environment_name(std::string_view option) {
  std::string name = "OPSAGENT_";
  for (const char c : option)
    name += c == '-' ? '_' : static_cast<char>(c - 'a' + 'A');
  return name;
}

// One row with the values that the command line gives it.
struct Given {
  const OptionRow* row = nullptr;
  CLI::Option* option = nullptr;
  std::vector<std::string> values;
};

class Parser {
 public:
  explicit Parser(const OptionSources& sources) : sources_(sources) {}

  Result<Options> parse() {
    if (auto parsed = parse_arguments(); !parsed) return std::move(parsed).error();
    read_command_line(false);  // --config is among these
    if (!options_.help && !options_.version && problems_.empty()) {
      read_config();
      read_environment();
      read_command_line(true);  // last, so that it wins
      if (options_.state_dir.empty()) options_.state_dir = default_state_dir();
    }
    if (problems_.empty()) return std::move(options_);
    return Error(ErrorCode::invalid, base::join(problems_, "\n"));
  }

 private:
  // The command must come first: options belong to commands.
  Result<void> parse_arguments() {
    const std::vector<std::string>& all = sources_.arguments;
    std::size_t first = 0;
    if (!all.empty() && !all.front().starts_with('-')) {
      if (all.front() == "help") {
        options_.help = true;
        if (all.size() > 1)
          if (const CommandRow* row = find_command(all[1])) options_.command = row->command;
        return {};
      }
      const CommandRow* row = find_command(all.front());
      if (!row)
        return Error(ErrorCode::invalid, "there is no command '" + all.front() + "'" +
                                             did_you_mean(all.front(), command_names()) +
                                             "\n'opsagent --help' lists the commands");
      options_.command = row->command;
      first = 1;
    }
    return parse_command(
        std::vector<std::string>(all.rbegin(), all.rend() - static_cast<std::ptrdiff_t>(first)));
  }

  // CLI11 wants the arguments in reverse.
  Result<void> parse_command(std::vector<std::string> reversed) {
    CLI::App app;
    app.set_help_flag();
    app.allow_extras();
    for (const OptionRow& row : option_rows())
      if (row.applies_to(options_.command)) given_.push_back({.row = &row});
    for (Given& given : given_) {
      std::string names = "--" + std::string(given.row->name);
      if (given.row->letter) names += std::string(",-") + given.row->letter;
      if (given.row->kind == ValueKind::none)
        given.option = app.add_flag(names);
      else
        given.option = app.add_option(names)->expected(1)->allow_extra_args(false);
      given.option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
    try {
      app.parse(std::move(reversed));
    } catch (const CLI::ParseError& error) {
      return Error(ErrorCode::invalid, std::string(error.what()) + hint());
    }
    for (Given& given : given_)
      given.values = given.option->results();
    return take_arguments(app.remaining());
  }

  std::string hint() const {
    const std::string command =
        options_.command == CommandName::none ? "" : std::string(command_row(options_.command).name) + " ";
    return "\n'opsagent " + command + "--help' lists the options";
  }

  // What CLI11 did not know: the command's argument, and mistakes.
  Result<void> take_arguments(const std::vector<std::string>& remaining) {
    bool only_arguments = false;
    std::vector<std::string> arguments;
    for (const std::string& word : remaining) {
      if (!only_arguments && word == "--")
        only_arguments = true;
      else if (only_arguments || word == "-" || !word.starts_with('-'))
        arguments.push_back(word);
      else
        return unknown_option(word);
    }
    const bool takes_one =
        options_.command != CommandName::none && !command_row(options_.command).argument.empty();
    if (arguments.size() > (takes_one ? 1 : 0)) {
      const std::string& extra = arguments[takes_one ? 1 : 0];
      if (options_.command == CommandName::none)
        return Error(ErrorCode::invalid, "the command comes first: opsagent " + extra + " …" + hint());
      return Error(ErrorCode::invalid, "'" + extra + "' is one argument too many" + hint());
    }
    if (!arguments.empty()) options_.argument = arguments.front();
    return {};
  }

  Result<void> unknown_option(std::string_view word) const {
    const std::string_view name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    const std::string_view bare = name.substr(0, name.find('='));
    std::string text = "there is no option '" + std::string(word.substr(0, word.find('='))) + "'";
    if (options_.command != CommandName::none)
      text += " for '" + std::string(command_row(options_.command).name) + "'";
    std::vector<std::string_view> names;
    for (const Given& given : given_)
      names.push_back(given.row->name);
    if (find_option(bare) && options_.command == CommandName::none)
      text += "; options come behind the command";
    else
      text += did_you_mean(bare, names, "--");
    return Error(ErrorCode::invalid, text + hint());
  }

  void store(const OptionRow& row, std::string_view value, const std::string& where) {
    auto stored = row.store(options_, value);
    if (!stored) problems_.push_back(where + " " + stored.error().message());
  }

  // The options that may stand elsewhere too, or those that may not.
  void read_command_line(bool configurable) {
    for (const Given& given : given_) {
      if (given.row->configurable != configurable) continue;
      for (const std::string& value : given.values)
        store(*given.row, given.row->kind == ValueKind::none && value == "true" ? "" : value,
              "--" + std::string(given.row->name));
    }
  }

  void read_environment() {
    for (const Given& given : given_) {
      if (!given.row->configurable) continue;
      const std::string name = environment_name(given.row->name);
      const char* value = sources_.environment(name.c_str());
      if (value && *value) store(*given.row, value, name);
    }
  }

  void read_config() {
    const char* in_environment = sources_.environment("OPSAGENT_CONFIG");
    if (options_.config.empty() && in_environment) options_.config = in_environment;
    const bool is_default = options_.config.empty();
    const std::string& path = is_default ? sources_.default_config : options_.config;
    if (is_default && ::access(path.c_str(), F_OK) != 0) return;
    auto text = base::read_file(path, base::kLargestConfig);
    if (!text) {
      problems_.push_back(text.error().message());
      return;
    }
    base::ConfigFile file = base::parse_config(*text, path);
    problems_.insert(problems_.end(), file.problems.begin(), file.problems.end());
    for (std::size_t i = 0; i < file.settings.size(); ++i)
      take_setting(file.settings[i], std::span(file.settings).first(i), path);
  }

  // A file serves all commands: what is known but is not for this one is passed over, though checked.
  void take_setting(const Setting& setting, std::span<const Setting> earlier, const std::string& path) {
    const std::string where = path + ":" + std::to_string(setting.line) + ":";
    const OptionRow* row = find_option(setting.name);
    if (!row || !row->configurable) {
      problems_.push_back(where + " unknown option '" + setting.name + "'" + nearest_setting(setting.name));
      return;
    }
    if (row->kind != ValueKind::none && !setting.has_value) {
      problems_.push_back(where + " '" + setting.name + "' needs a value");
      return;
    }
    const auto same = std::ranges::find(earlier, setting.name, &Setting::name);
    if (!row->repeatable && same != earlier.end()) {
      problems_.push_back(where + " '" + setting.name + "' is set twice; first in line " +
                          std::to_string(same->line));
      return;
    }
    if (row->applies_to(options_.command))
      return store(*row, setting.value, where + " '" + setting.name + "'");
    Options ignored;
    auto checked = row->store(ignored, setting.value);
    if (!checked) problems_.push_back(where + " '" + setting.name + "' " + checked.error().message());
  }

  static std::string nearest_setting(std::string_view name) {
    std::vector<std::string_view> names;
    for (const OptionRow& row : option_rows())
      if (row.configurable) names.push_back(row.name);
    return did_you_mean(name, names);
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

}  // namespace agent::cli
