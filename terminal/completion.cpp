#include "terminal/completion.hpp"

#include <algorithm>
#include <span>

#include "base/text.hpp"

namespace terminal {

namespace {

// For the inside of single quotes of all three shells; our texts have no backslashes.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

std::string in_one_line(std::span<const std::string_view> words) {
  return base::join(std::vector<std::string>(words.begin(), words.end()), " ");
}

// Behind a command: "--json --quiet".
std::string option_names(const CommandTable& table, const CommandRow* command) {
  std::string all;
  for (const OptionRow& row : table.options)
    if (table.applies(row, command)) all += (all.empty() ? "--" : " --") + std::string(row.name);
  return all;
}

// Where the command stands: its name, or what stands without one.
std::string first_words(const CommandTable& table) {
  std::string all = in_one_line(table.groups());
  for (const OptionRow& row : table.options)
    if (row.scope == Scope::top || row.name == "help") all += " --" + std::string(row.name);
  return all;
}

// What the group has to say, for a list of first words.
std::string group_summary(const CommandTable& table, std::string_view group) {
  const CommandRow* row = table.find_command(group);
  return row ? std::string(row->summary) : in_one_line(table.subcommands(group));
}

// The command's pattern of a `case`; names with a blank need quotes, and all of a table look alike.
std::string case_label(const CommandTable& table, const CommandRow& command) {
  return "    " + (table.has_groups() ? in_quotes(command.name) : std::string(command.name)) + ")\n";
}

// ---- bash

std::string bash_reply(const std::string& words) {
  return "COMPREPLY=($(compgen -W " + words + " -- \"$cur\"))";
}

std::string bash_values(ValueKind kind, std::string_view choices) {
  if (!choices.empty()) return bash_reply(in_quotes(choices));
  if (kind == ValueKind::file) return "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\"))";
  if (kind == ValueKind::folder) return "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$cur\"))";
  return "COMPREPLY=()";
}

std::string bash_arguments(const CommandRow& command) {
  if (!command.argument_source.empty())
    return bash_reply("\"$(" + std::string(command.argument_source) + " 2>/dev/null)\"");
  return bash_values(command.argument_kind, command.argument_choices);
}

// Makes $command of two words where the first is a group.
std::string bash_groups(const CommandTable& table) {
  if (!table.has_groups()) return {};
  std::string script = "  case $command in\n";
  for (const std::string_view group : table.groups())
    if (const auto below = table.subcommands(group); !below.empty())
      script += "    " + std::string(group) + ")\n      if [ \"$COMP_CWORD\" -eq 2 ]; then " +
                bash_reply(in_quotes(in_one_line(below))) +
                "; return; fi\n      command=\"$command ${COMP_WORDS[2]}\" ;;\n";
  return script + "  esac\n";
}

std::string bash_script(const CommandTable& table) {
  const std::string program(table.program);
  std::string script = "# bash completion for " + program + "\n_" + program +
                       "() {\n  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
                       "command=${COMP_WORDS[1]}\n"
                       "  COMPREPLY=()\n  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    " +
                       bash_reply(in_quotes(first_words(table))) + "\n    return\n  fi\n" +
                       bash_groups(table) + "  case $prev in\n";
  for (const OptionRow& row : table.options) {
    if (row.kind == ValueKind::none) continue;
    script += "    --" + std::string(row.name);
    if (row.letter && table.has_groups()) script += std::string("|-") + row.letter;
    script += ") " + bash_values(row.kind, row.choices) + "; return ;;\n";
  }
  script += "  esac\n  case $command in\n";
  for (const CommandRow& command : table.commands)
    script += case_label(table, command) + "      if [[ $cur == -* ]]; then " +
              bash_reply(in_quotes(option_names(table, &command))) + "\n      else " +
              bash_arguments(command) + "\n      fi ;;\n";
  if (!table.needs_command)
    script += "    *) " + bash_reply(in_quotes(option_names(table, nullptr))) + " ;;\n";
  return script + "  esac\n}\ncomplete -F _" + program + " " + program + "\n";
}

// ---- zsh

std::string zsh_action(ValueKind kind, std::string_view choices) {
  if (!choices.empty()) return "(" + std::string(choices) + ")";
  return kind == ValueKind::file ? "_files" : kind == ValueKind::folder ? "_files -/" : "";
}

// In a description of _arguments, brackets end it and a colon ends the field.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_options(const CommandTable& table, const CommandRow* command) {
  std::string script = "_arguments";
  for (const OptionRow& row : table.options) {
    if (!table.applies(row, command)) continue;
    std::string spec =
        (row.repeatable ? "*--" : "--") + std::string(row.name) + "[" + zsh_text(row.doc) + "]";
    if (row.kind != ValueKind::none)
      spec += ":" + zsh_text(row.placeholder) + ":" + zsh_action(row.kind, row.choices);
    script += " \\\n        " + in_quotes(spec);
  }
  return script;
}

// Commands of a table with groups may have several arguments; the others have one.
std::string zsh_arguments(const CommandTable& table, const CommandRow& command) {
  if (command.arguments.empty()) return {};
  if (!command.argument_source.empty())
    return " \\\n        \"1:NAME:($(" + std::string(command.argument_source) + " 2>/dev/null))\"";
  const std::string field =
      table.has_groups() ? "*:" + zsh_text(command.arguments) : "1:" + std::string(command.arguments);
  return " \\\n        " +
         in_quotes(field + ":" + zsh_action(command.argument_kind, command.argument_choices));
}

std::string zsh_groups(const CommandTable& table) {
  if (!table.has_groups()) return {};
  std::string script;
  for (const std::string_view group : table.groups())
    if (const auto below = table.subcommands(group); !below.empty())
      script +=
          "    " + std::string(group) + ")\n      if (( CURRENT == 2 )); then compadd " + in_one_line(below) +
          "; return; fi\n      command=\"$command $words[2]\"\n      shift words\n      (( CURRENT-- )) ;;\n";
  return script + "  esac\n  case $command in\n";
}

// What stands without a command, and the commands beside it.
std::string zsh_top(const CommandTable& table) {
  return "    *)\n      " + zsh_options(table, nullptr) + " \\\n        " +
         in_quotes("1:command:(" + in_one_line(table.groups()) + ")") + "\n      ;;\n";
}

std::string zsh_script(const CommandTable& table) {
  const std::string program(table.program);
  const std::string function = "_" + program;
  std::string script = "#compdef " + program + "\n" + function + "() {\n";
  if (table.needs_command) {
    script += "  local -a commands\n  commands=(\n";
    for (const std::string_view group : table.groups())
      script += "    " + in_quotes(std::string(group) + ":" + zsh_text(group_summary(table, group))) + "\n";
    script +=
        "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
        "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n";
  } else {
    script += "  local command=$words[2]\n  if (( CURRENT > 2 )) && [[ " +
              in_quotes(" " + in_one_line(table.groups()) + " ") +
              " == *\" $command \"* ]]; then\n    shift words\n    (( CURRENT-- ))\n  fi\n";
  }
  script += "  case $command in\n" + zsh_groups(table);
  for (const CommandRow& command : table.commands)
    script += case_label(table, command) + "      " + zsh_options(table, &command) +
              zsh_arguments(table, command) + "\n      ;;\n";
  if (!table.needs_command) script += zsh_top(table);
  return script + "  esac\n}\nif [ \"$funcstack[1]\" = " + function + " ]; then " + function +
         " \"$@\"; else compdef " + function + " " + program + "; fi\n";
}

// ---- fish

std::string fish_line(const CommandTable& table, const std::string& condition) {
  return "complete -c " + std::string(table.program) + " -n " + condition;
}

std::string fish_option(const OptionRow& row) {
  std::string text = " -l " + std::string(row.name);
  if (row.letter) text += std::string(" -s ") + row.letter;
  if (!row.choices.empty())
    text += " -x -a " + in_quotes(row.choices);
  else if (row.kind == ValueKind::folder)
    text += " -x -a '(__fish_complete_directories)'";
  else if (row.kind != ValueKind::none)
    text += row.kind == ValueKind::file ? " -r -F" : " -x";
  return text + " -d " + in_quotes(row.doc) + "\n";
}

// The word where a command begins, and the second one below it.
std::string fish_group(const CommandTable& table, std::string_view group) {
  std::string script = fish_line(table, "__fish_use_subcommand") + " -a " + std::string(group) + " -d " +
                       in_quotes(group_summary(table, group)) + "\n";
  const auto below = table.subcommands(group);
  for (const std::string_view each : below)
    script += fish_line(table, "'__fish_seen_subcommand_from " + std::string(group) +
                                   "; and not __fish_seen_subcommand_from " + in_one_line(below) + "'") +
              " -a " + std::string(each) + " -d " +
              in_quotes(table.find_command(std::string(group) + " " + std::string(each))->summary) + "\n";
  return script;
}

std::string fish_command(const CommandTable& table, const CommandRow& command) {
  const auto parts = base::split(command.name, ' ');
  std::string condition = "__fish_seen_subcommand_from " + std::string(parts.front());
  if (parts.size() > 1) condition += "; and __fish_seen_subcommand_from " + std::string(parts[1]);
  const std::string here = fish_line(table, in_quotes(condition));
  std::string script;
  for (const OptionRow& row : table.options)
    if (table.applies(row, &command)) script += here + fish_option(row);
  if (!command.argument_source.empty())
    script += here + " -a '(" + std::string(command.argument_source) + ")'\n";
  else if (!command.argument_choices.empty())
    script += here + " -a " + in_quotes(command.argument_choices) + "\n";
  else if (command.argument_kind == ValueKind::file)
    script += here + " -F\n";
  return script;
}

std::string fish_script(const CommandTable& table) {
  const std::string program(table.program);
  std::string script = "# fish completion for " + program + "\ncomplete -c " + program + " -f\n";
  if (table.has_groups())
    for (const std::string_view group : table.groups())
      script += fish_group(table, group);
  for (const CommandRow& command : table.commands)
    script += (table.has_groups() ? "" : fish_group(table, command.name)) + fish_command(table, command);
  if (!table.needs_command)
    for (const OptionRow& row : table.options)
      if (table.applies(row, nullptr)) script += fish_line(table, "__fish_use_subcommand") + fish_option(row);
  return script;
}

}  // namespace

base::Result<std::string> completion_script(const CommandTable& table, std::string_view shell) {
  if (shell == "bash") return bash_script(table);
  if (shell == "zsh") return zsh_script(table);
  if (shell == "fish") return fish_script(table);
  return base::Error(base::ErrorCode::invalid, "there is no completion for '" + std::string(shell) +
                                                   "'; there is for bash, zsh and fish");
}

}  // namespace terminal
