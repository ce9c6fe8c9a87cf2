#include "terminal/command_help.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "terminal/wrap.hpp"

namespace terminal {

namespace {

constexpr std::size_t kHelpWidth = 100;

// Filled up to a column, with so many blanks at least.
std::string padded(std::string text, std::size_t column, std::size_t blanks = 1) {
  text.resize(std::max(text.size() + blanks, column), ' ');
  return text;
}

std::string with_value(const OptionRow& row) {
  std::string text = "--" + std::string(row.name);
  if (row.kind != ValueKind::none) text.append(" ").append(row.placeholder);
  return text;
}

// Where there are no commands options are few: each has one line, and no room is kept for letters.
std::string option_line(const CommandTable& table, const OptionRow& row) {
  const std::size_t column = table.help.option_column;
  if (!table.needs_command) return padded("  " + with_value(row), column, 2) + std::string(row.doc) + "\n";
  const std::string left = row.letter ? std::string("  -") + row.letter + ", " : std::string("      ");
  return wrap(row.doc, padded(left + with_value(row), column), std::string(column, ' '), kHelpWidth) + "\n";
}

std::string option_lines(const CommandTable& table, const CommandRow* command, bool (*is_wanted)(Scope)) {
  std::string text;
  for (const OptionRow& row : table.options)
    if (is_wanted(row.scope) && table.applies(row, command)) text += option_line(table, row);
  return text;
}

// Options that may stand anywhere have a list of their own.
std::string options_part(const CommandTable& table, const CommandRow* command) {
  if (!table.options_before_command)
    return "\nOptions:\n" + option_lines(table, command, [](Scope) { return true; });
  const std::string own = option_lines(table, command, [](Scope scope) { return scope == Scope::named; });
  return (own.empty() ? "" : "\nOptions:\n" + own) + "\nOptions for all commands:\n" +
         option_lines(table, command, [](Scope scope) { return scope != Scope::named; });
}

std::string usage_of(const CommandTable& table, const CommandRow& row) {
  return std::string(table.program) + " " + std::string(row.name) +
         (row.arguments.empty() ? "" : " " + std::string(row.arguments));
}

std::string program_help(const CommandTable& table) {
  std::string text(table.help.about);
  if (table.needs_command) {
    text += "\nCommands:\n";
    for (const CommandRow& row : table.commands)
      text +=
          padded("  " + std::string(row.name), table.help.command_column) + std::string(row.summary) + "\n";
  }
  return text + options_part(table, nullptr) + "\n" + std::string(table.help.closing);
}

std::string sentence(std::string_view summary) {
  std::string text(summary);
  if (text.front() >= 'a' && text.front() <= 'z') text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text + ".\n";
}

// For a cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string options_table(const CommandTable& table, const CommandRow* command) {
  std::string text;
  for (const OptionRow& row : table.options) {
    if (command ? row.scope != Scope::named || !table.applies(row, command) : row.scope != Scope::every)
      continue;
    if (text.empty()) text = "\n| option | what it does |\n|---|---|\n";
    text += "| `" + with_value(row) + "`";
    if (row.letter) text += std::string(", `-") + row.letter + "`";
    text += " | " + cell(row.doc);
    if (row.configurable) text += "; `" + table.environment_name(row.name) + "`";
    text += " |\n";
  }
  return text;
}

}  // namespace

std::string help_text(const CommandTable& table, const CommandRow* command) {
  if (!command) return program_help(table);
  std::string text = "Usage: " + usage_of(table, *command) + " [OPTIONS]\n\n";
  if (table.help.summary_first)
    text += sentence(command->summary) + (command->description.empty() ? "" : "\n");
  for (const std::string_view paragraph : base::split(command->description, '\n'))
    text += wrap(paragraph, "", "", kHelpWidth) + "\n";
  text += options_part(table, command) + "\nExamples:\n";
  for (const std::string_view example : base::split(command->examples, '\n'))
    text.append("  ").append(example).append("\n");
  const OptionRow* config = table.find_option("config");
  if (config && table.applies(*config, command)) text += "\n" + std::string(table.help.config_note);
  return text;
}

std::string group_help(const CommandTable& table, std::string_view group) {
  constexpr std::size_t kSummaries = 34;  // the column where they start
  const auto below = table.subcommands(group);
  if (below.empty()) return {};
  const std::string program(table.program);
  const std::string name(group);
  std::string text = "Usage: " + program + " " + name + " COMMAND [OPTIONS]\n\nCommands:\n";
  for (const std::string_view each : below) {
    const CommandRow& row = *table.find_command(name + " " + std::string(each));
    text += padded("  " + usage_of(table, row).substr(program.size() + 1), kSummaries) +
            std::string(row.summary) + "\n";
  }
  return text + "\n'" + program + " " + name + " COMMAND --help' explains a command.\n";
}

std::string reference_sections(const CommandTable& table) {
  std::string page = "## Options for all commands\n" + options_table(table, nullptr);
  for (const CommandRow& row : table.commands) {
    page += "\n## " + std::string(row.name) + "\n\n`" + usage_of(table, row) +
            "`: " + std::string(row.summary) + ".\n";
    if (!row.description.empty()) page += "\n" + std::string(row.description) + "\n";
    page += options_table(table, &row) + "\n```sh\n" + std::string(row.examples) + "\n```\n";
  }
  return page;
}

}  // namespace terminal
