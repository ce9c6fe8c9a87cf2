#include "terminal/command_table.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace terminal {

namespace {

std::string_view first_word(std::string_view name) {
  return name.substr(0, name.find(' '));
}

}  // namespace

const CommandRow* CommandTable::find_command(std::string_view name) const {
  const auto found = std::ranges::find(commands, name, &CommandRow::name);
  return found == commands.end() ? nullptr : &*found;
}

const OptionRow* CommandTable::find_option(std::string_view name) const {
  const auto found = std::ranges::find(options, name, &OptionRow::name);
  return found == options.end() ? nullptr : &*found;
}

bool CommandTable::applies(const OptionRow& row, const CommandRow* command) const {
  if (!command) return row.scope != Scope::named;
  if (row.scope != Scope::named) return row.scope == Scope::every;
  const auto names = base::split_words(command->options);
  return std::ranges::find(names, row.name) != names.end();
}

std::vector<std::string_view> CommandTable::groups() const {
  std::vector<std::string_view> words;
  for (const CommandRow& row : commands)
    if (std::ranges::find(words, first_word(row.name)) == words.end()) words.push_back(first_word(row.name));
  return words;
}

std::vector<std::string_view> CommandTable::subcommands(std::string_view group) const {
  std::vector<std::string_view> names;
  for (const CommandRow& row : commands)
    if (first_word(row.name) == group && row.name.size() > group.size())
      names.push_back(row.name.substr(group.size() + 1));
  return names;
}

bool CommandTable::has_groups() const {
  return std::ranges::any_of(commands,
                             [](const CommandRow& row) { return row.name.find(' ') != row.name.npos; });
}

std::string CommandTable::environment_name(std::string_view option) const {
  std::string name = std::string(program) + "_" + std::string(option);
  for (char& c : name) {
    if (c == '-') c = '_';
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

}  // namespace terminal
