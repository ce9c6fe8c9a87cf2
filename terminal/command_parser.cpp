#include "terminal/command_parser.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>

#include "base/config_file.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"

namespace terminal {

namespace {

using base::did_you_mean;
using base::Error;
using base::ErrorCode;
using base::Result;
using base::Setting;

using Words = std::vector<std::string>;

std::string joined(std::span<const std::string_view> words, std::string_view separator) {
  return base::join(std::vector<std::string>(words.begin(), words.end()), separator);
}

std::string dashed(const OptionRow& row) {
  return "--" + std::string(row.name);
}

// One row with the values that the command line gives it.
struct Given {
  const OptionRow* row = nullptr;
  Words values = {};
};

class Parser {
 public:
  Parser(const CommandTable& table, const OptionSources& sources, CommandLine& line, CommandLine& ignored)
      : table_(table), sources_(sources), line_(line), ignored_(ignored) {}

  Result<void> parse() {
    Words words = sources_.arguments;
    if (asks_for_help(words)) return {};
    if (auto found = take_command(words); !found) return found;
    if (auto split = split_words(std::move(words)); !split) return split;
    store_values();
    if (table_.counts_arguments_last && problems_.empty() && !line_.help) count_arguments();
    if (problems_.empty()) return {};
    // Where a config file is read, most mistakes are in it, and --help does not explain them.
    return Error(ErrorCode::invalid, base::join(problems_, "\n") + (has_config() ? "" : hint()));
  }

 private:
  bool has_config() const { return !table_.default_config.empty(); }

  std::string hint() const {
    const std::string command = line_.command ? std::string(line_.command->name) + " " : "";
    return said_by_help(command, line_.command ? table_.help.command_hint : table_.help.top_hint);
  }

  std::string said_by_help(const std::string& command, std::string_view what) const {
    return "\n'" + std::string(table_.program) + " " + command + "--help' " + std::string(what);
  }

  Error mistake(const std::string& text) const { return Error(ErrorCode::invalid, text + hint()); }

  // ---- the command

  // "help COMMAND", where that is no command with a row of its own.
  bool asks_for_help(const Words& words) {
    if (words.empty() || words.front() != "help" || !table_.needs_command || table_.find_command("help"))
      return false;
    line_.help = true;
    if (words.size() > 1) line_.command = table_.find_command(words[1]);
    return true;
  }

  // Takes the command's one or two words out of `words`.
  Result<void> take_command(Words& words) {
    std::size_t at = 0;
    if (table_.options_before_command) {
      bool has_top_flag = false;
      while (at < words.size() && words[at].starts_with('-')) {
        const bool is_one = is_top_flag(words[at]);
        const std::size_t taken = is_one ? 1 : leading_words(words[at]);
        if (taken == 0) return mistake("'" + words[at] + "' cannot stand before the command");
        has_top_flag |= is_one;
        at += taken;
      }
      if (has_top_flag) return {};
    } else if (!words.empty() && words.front().starts_with('-')) {
      return {};
    }
    if (auto found = find_words(words, at); !found) return found;
    if (table_.options_before_command) drop_top_flags(words);
    return {};
  }

  bool is_top_flag(std::string_view word) const {
    return std::ranges::any_of(table_.options, [&](const OptionRow& row) {
      return row.scope == Scope::top && row.kind == ValueKind::none && word == dashed(row);
    });
  }

  // Behind a command --version means nothing, unless the command has an option of this name.
  void drop_top_flags(Words& words) const {
    std::erase_if(words, [&](const std::string& word) {
      return is_top_flag(word) && !std::ranges::any_of(table_.options, [&](const OptionRow& row) {
               return word == dashed(row) && line_.command && table_.applies(row, line_.command);
             });
    });
  }

  // How many words the option takes that stands before the command; 0: it cannot stand there.
  std::size_t leading_words(std::string_view word) const {
    for (const OptionRow& row : table_.options) {
      if (row.scope != Scope::every) continue;
      const std::size_t separate_value = row.kind == ValueKind::none ? 0 : 1;
      if (word == dashed(row)) return 1 + separate_value;
      if (word.starts_with(dashed(row) + "=")) return 1;
      if (row.letter && word.starts_with(std::string("-") + row.letter))
        return word.size() > 2 ? 1 : 1 + separate_value;
    }
    return 0;
  }

  // The command that begins at this word; its words are taken out.
  Result<void> find_words(Words& words, std::size_t at) {
    if (at >= words.size()) return {};
    const std::string word = words[at];
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(at);
    if (const CommandRow* row = table_.find_command(word)) {
      line_.command = row;
      words.erase(first);
      return {};
    }
    const auto below = table_.subcommands(word);
    if (below.empty()) return unknown_command(word);
    if (at + 1 < words.size() && !words[at + 1].starts_with('-')) {
      line_.command = table_.find_command(word + " " + words[at + 1]);
      if (!line_.command) return unknown_subcommand(word, words[at + 1], below);
      words.erase(first, first + 2);
      return {};
    }
    if (std::ranges::none_of(words, [](const auto& each) { return each == "--help" || each == "-h"; }))
      return mistake("what with it? " + std::string(table_.program) + " " + word + " " + joined(below, "|"));
    line_.group = word;
    words.erase(first);
    return {};
  }

  Error unknown_command(const std::string& word) const {
    if (!table_.needs_command)
      return mistake(std::string(table_.program) + " takes options only, not '" + word + "'");
    return Error(ErrorCode::invalid, "there is no command '" + word + "'" +
                                         did_you_mean(word, table_.groups()) +
                                         said_by_help("", table_.help.commands_hint));
  }

  Error unknown_subcommand(const std::string& group, const std::string& word,
                           std::span<const std::string_view> below) const {
    return mistake("there is no command '" + group + " " + word + "'" +
                   did_you_mean(word, below, group + " ") + "\nthere is: " + std::string(table_.program) +
                   " " + group + " " + joined(below, "|"));
  }

  // ---- the words behind it

  Given* find_given(std::string_view word) {
    const bool is_long = word.starts_with("--");
    const std::string_view name = is_long ? word.substr(2, word.find('=') - 2) : std::string_view();
    const auto found = std::ranges::find_if(given_, [&](const Given& given) {
      return is_long ? given.row->name == name
                     : word.size() > 1 && word[0] == '-' && given.row->letter && given.row->letter == word[1];
    });
    return found == given_.end() ? nullptr : &*found;
  }

  // Gives every option its values. What is left are arguments and mistakes, "--" among them.
  Result<void> split_words(Words words) {
    for (const OptionRow& row : table_.options)
      if (table_.applies(row, line_.command)) given_.push_back({.row = &row});
    Words rest;
    for (std::size_t at = 0; at < words.size(); ++at) {
      const std::string word = words[at];
      if (word == "--") {
        rest.insert(rest.end(), words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
        break;
      }
      Given* given = find_given(word);
      if (!given) {
        rest.push_back(word);
        continue;
      }
      const bool is_long = word.starts_with("--");
      const bool is_flag = given->row->kind == ValueKind::none;
      const std::size_t equals = is_long ? word.find('=') : 1;
      std::string value = equals == word.npos ? "" : word.substr(equals + 1);
      if (is_flag && !is_long && !value.empty()) {  // more letters: "-qv" is "-q -v"
        words[at--] = "-" + value;
        value.clear();
      }
      if (!is_flag && value.empty()) {
        if (at + 1 == words.size()) return mistake(dashed(*given->row) + ": 1 required  missing");
        value = words[++at];
      }
      given->values.push_back(std::move(value));
    }
    return take_rest(rest);
  }

  Result<void> take_rest(const Words& rest) {
    if (!line_.command && !table_.needs_command) {
      if (rest.empty()) return {};
      return rest.front().starts_with('-') ? unknown_option(rest.front()) : unknown_command(rest.front());
    }
    bool only_arguments = false;
    for (const std::string& word : rest) {
      if (!only_arguments && word == "--")
        only_arguments = true;
      else if (only_arguments || word == "-" || !word.starts_with('-'))
        line_.arguments.push_back(word);
      else
        return unknown_option(word);
    }
    if (table_.counts_arguments_last) return {};
    if (!line_.command && !line_.arguments.empty())
      return mistake("the command comes first: " + std::string(table_.program) + " " + line_.argument() +
                     " …");
    if (line_.command && line_.arguments.size() > line_.command->most) return mistake(too_many());
    return {};
  }

  Error unknown_option(std::string_view word) const {
    const std::string_view name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    const std::string_view bare = name.substr(0, name.find('='));
    std::string text = "there is no option '" + std::string(word.substr(0, word.find('='))) + "'";
    if (line_.command) text += " for '" + std::string(line_.command->name) + "'";
    const bool stands_too_early =
        !line_.command && table_.needs_command && !table_.options_before_command && table_.find_option(bare);
    std::vector<std::string_view> names;
    for (const Given& given : given_)
      names.push_back(given.row->name);
    return mistake(
        text + (stands_too_early ? "; options come behind the command" : did_you_mean(bare, names, "--")));
  }

  std::string too_many() const {
    return "'" + line_.arguments[line_.command->most] + "' is one argument too many";
  }

  void count_arguments() {
    const CommandRow* row = line_.command;
    if (!row) return;
    if (line_.arguments.size() > row->most)
      problems_.push_back(too_many());
    else if (line_.arguments.size() < row->least)
      problems_.push_back("something is missing: " + std::string(table_.program) + " " +
                          std::string(row->name) + " " + std::string(row->arguments));
  }

  // ---- the values

  // Whatever wins is stored last. What stands only on the command line comes first, where there is a config
  // file: its name is among that, and so is --help, which needs nothing else to be right.
  void store_values() {
    if (has_config()) {
      store_given(false);
      if (line_.help || line_.version || !problems_.empty()) return;
      read_config();
      read_environment();
      store_given(true);
    } else {
      read_environment();
      for (const Given& given : given_)
        store_given(given);
    }
  }

  void store(const OptionRow& row, std::string_view value, const std::string& where) {
    const std::string whole = whole_path(row, value);
    auto stored = row.store(line_, whole);
    if (!stored) problems_.push_back(where + " " + stored.error().message());
  }

  // Paths are meant from where the program was started, whoever uses them later, and wherever.
  std::string whole_path(const OptionRow& row, std::string_view value) const {
    const bool is_path = row.kind == ValueKind::file || row.kind == ValueKind::folder;
    if (!is_path || sources_.folder.empty() || value.empty() || value == "-" || value.starts_with('/'))
      return std::string(value);
    if (value == ".") return sources_.folder;
    if (value.starts_with("./")) value.remove_prefix(2);
    return sources_.folder + (sources_.folder.ends_with('/') ? "" : "/") + std::string(value);
  }

  void store_given(bool configurable) {
    for (const Given& given : given_)
      if (given.row->configurable == configurable) store_given(given);
  }

  void store_given(const Given& given) {
    for (const std::string& value : given.values)
      store(*given.row, value, dashed(*given.row));
  }

  void read_environment() {
    for (const Given& given : given_) {
      if (!given.row->configurable) continue;
      const std::string name = table_.environment_name(given.row->name);
      const char* value = sources_.environment(name.c_str());
      if (value && *value) store(*given.row, value, name);
    }
  }

  void read_config() {
    const char* in_environment = sources_.environment(table_.environment_name("config").c_str());
    if (line_.config.empty() && in_environment) line_.config = in_environment;
    const bool is_default = line_.config.empty();
    const std::string path =
        is_default ? sources_.default_config.value_or(std::string(table_.default_config)) : line_.config;
    if (is_default && ::access(path.c_str(), F_OK) != 0) return;
    auto text = base::read_file(path, base::kLargestConfig);
    if (!text) {
      problems_.push_back(text.error().message());
      return;
    }
    if (auto translated = table_.translate_config ? table_.translate_config(*text) : std::nullopt) {
      if (!translated->remark.empty()) line_.remarks.push_back(path + ": " + translated->remark);
      *text = std::move(translated->text);
    }
    const base::ConfigFile file = base::parse_config(*text, path);
    problems_.insert(problems_.end(), file.problems.begin(), file.problems.end());
    for (std::size_t i = 0; i < file.settings.size(); ++i)
      take_setting(file.settings[i], std::span(file.settings).first(i), path);
  }

  // A file serves all commands: what is known but is not for this one is passed over, though checked.
  void take_setting(const Setting& setting, std::span<const Setting> earlier, const std::string& path) {
    const std::string where = path + ":" + std::to_string(setting.line) + ":";
    const OptionRow* row = table_.find_option(setting.name);
    const auto same = std::ranges::find(earlier, setting.name, &Setting::name);
    if (!row || !row->configurable)
      problems_.push_back(where + " unknown option '" + setting.name + "'" + nearest_setting(setting.name));
    else if (row->kind != ValueKind::none && !setting.has_value)
      problems_.push_back(where + " '" + setting.name + "' needs a value");
    else if (!row->repeatable && same != earlier.end())
      problems_.push_back(where + " '" + setting.name + "' is set twice; first in line " +
                          std::to_string(same->line));
    else if (table_.applies(*row, line_.command))
      store(*row, setting.value, where + " '" + setting.name + "'");
    else if (auto checked = row->store(ignored_, setting.value); !checked)
      problems_.push_back(where + " '" + setting.name + "' " + checked.error().message());
  }

  std::string nearest_setting(std::string_view name) const {
    std::vector<std::string_view> names;
    for (const OptionRow& row : table_.options)
      if (row.configurable) names.push_back(row.name);
    return did_you_mean(name, names);
  }

  const CommandTable& table_;
  const OptionSources& sources_;
  CommandLine& line_;
  CommandLine& ignored_;
  std::vector<Given> given_;
  std::vector<std::string> problems_;
};

// "" when it has none (it was removed, or is not reachable).
std::string working_folder() {
  const std::unique_ptr<char, decltype(&std::free)> folder(::getcwd(nullptr, 0), &std::free);
  return folder && *folder == '/' ? std::string(folder.get()) : std::string();
}

}  // namespace

OptionSources process_sources(int argc, const char* const* argv) {
  return {.arguments = Words(argv + (argc > 0 ? 1 : 0), argv + argc),
          .environment = [](const char* name) -> const char* { return std::getenv(name); },
          .folder = working_folder()};
}

Result<void> parse_into(const CommandTable& table, const OptionSources& sources, CommandLine& line,
                        CommandLine& ignored) {
  return Parser(table, sources, line, ignored).parse();
}

}  // namespace terminal
