// The only file of this folder that includes CLI11: it takes seconds to compile.
#include <unistd.h>

#include <algorithm>

#include <CLI/CLI.hpp>

#include "backend/server/options.hpp"
#include "base/config_file.hpp"
#include "base/file_read.hpp"
#include "base/text.hpp"

namespace backend::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Setting;

std::string did_you_mean(std::string_view word, bool configurable_only, std::string_view prefix = {}) {
  std::vector<std::string_view> names;
  for (const OptionRow& row : option_rows())
    if (row.configurable || !configurable_only) names.push_back(row.name);
  const auto close = base::nearest(word, names);
  return close ? "; did you mean '" + std::string(prefix) + std::string(*close) + "'?" : "";
}

std::string environment_name(std::string_view option) {
  std::string name = "OPSBACKEND_";
  for (const char c : option)
    name += c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

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
    }
    if (problems_.empty()) return std::move(options_);
    return Error(ErrorCode::invalid, base::join(problems_, "\n"));
  }

 private:
  struct Given {
    const OptionRow* row;
    CLI::Option* option;
    std::vector<std::string> values;
  };

  Result<void> parse_arguments() {
    CLI::App app;
    app.set_help_flag();
    app.allow_extras();
    for (const OptionRow& row : option_rows()) {
      const std::string names = "--" + std::string(row.name) + (row.name == "help" ? ",-h" : "");
      CLI::Option* option =
          row.is_flag() ? app.add_flag(names) : app.add_option(names)->expected(1)->allow_extra_args(false);
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
      given_.push_back({&row, option, {}});
    }
    try {
      // CLI11 wants the arguments in reverse.
      app.parse(std::vector<std::string>(sources_.arguments.rbegin(), sources_.arguments.rend()));
    } catch (const CLI::ParseError& error) {
      return Error(ErrorCode::invalid, std::string(error.what()) + kHint);
    }
    for (Given& given : given_)
      given.values = given.option->results();
    for (const std::string& word : app.remaining()) {
      if (!word.starts_with('-'))
        return Error(ErrorCode::invalid, "opsbackend takes options only, not '" + word + "'" + kHint);
      const std::string name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
      return Error(ErrorCode::invalid, "there is no option '" + word.substr(0, word.find('=')) + "'" +
                                           did_you_mean(name.substr(0, name.find('=')), false, "--") + kHint);
    }
    return {};
  }

  void store(const OptionRow& row, std::string_view value, const std::string& where) {
    options_.configured = true;
    auto stored = row.store(options_, value);
    if (!stored) problems_.push_back(where + " " + stored.error().message());
  }

  // The options that may stand elsewhere too, or those that may not.
  void read_command_line(bool configurable) {
    for (const Given& given : given_) {
      if (given.row->configurable != configurable) continue;
      for (const std::string& value : given.values)
        store(*given.row, given.row->is_flag() && value == "true" ? "" : value,
              "--" + std::string(given.row->name));
    }
  }

  void read_environment() {
    for (const OptionRow& row : option_rows()) {
      if (!row.configurable) continue;
      const std::string name = environment_name(row.name);
      const char* value = sources_.environment(name.c_str());
      if (value && *value) store(row, value, name);
    }
  }

  void read_config() {
    const char* in_environment = sources_.environment("OPSBACKEND_CONFIG");
    if (options_.config.empty() && in_environment) options_.config = in_environment;
    const bool is_default = options_.config.empty();
    const std::string& path = is_default ? sources_.default_config : options_.config;
    if (is_default && ::access(path.c_str(), F_OK) != 0) return;
    auto text = base::read_file(path, base::kLargestConfig);
    if (!text) {
      problems_.push_back(text.error().message());
      return;
    }
    const base::ConfigFile file = base::parse_config(*text, path);
    problems_.insert(problems_.end(), file.problems.begin(), file.problems.end());
    for (std::size_t i = 0; i < file.settings.size(); ++i)
      take_setting(file.settings[i], std::span(file.settings).first(i), path);
  }

  void take_setting(const Setting& setting, std::span<const Setting> earlier, const std::string& path) {
    const std::string where = path + ":" + std::to_string(setting.line) + ":";
    const auto row = std::ranges::find(option_rows(), setting.name, &OptionRow::name);
    const auto same = std::ranges::find(earlier, setting.name, &Setting::name);
    if (row == option_rows().end() || !row->configurable)
      problems_.push_back(where + " unknown option '" + setting.name + "'" +
                          did_you_mean(setting.name, true));
    else if (!row->is_flag() && !setting.has_value)
      problems_.push_back(where + " '" + setting.name + "' needs a value");
    else if (!row->repeatable && same != earlier.end())
      problems_.push_back(where + " '" + setting.name + "' is set twice; first in line " +
                          std::to_string(same->line));
    else
      store(*row, setting.value, where + " '" + setting.name + "'");
  }

  static constexpr const char* kHint = "\n'opsbackend --help' lists the options";

  const OptionSources& sources_;
  Options options_;
  std::vector<Given> given_;
  std::vector<std::string> problems_;
};

}  // namespace

Result<Options> parse_options(const OptionSources& sources) {
  return Parser(sources).parse();
}

}  // namespace backend::server
