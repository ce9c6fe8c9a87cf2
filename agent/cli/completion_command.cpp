// Completion scripts, from the same rows as parsing and help.
#include <algorithm>

#include "agent/cli/commands.hpp"
#include "base/text.hpp"

namespace agent::cli {

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

std::string command_list() {
  std::string all;
  for (const std::string_view name : command_names())
    all.append(all.empty() ? "" : " ").append(name);
  return all;
}

constexpr std::string_view kStateNames = "$(opsagent states --quiet 2>/dev/null)";

// ---- bash

std::string bash_words(ValueKind kind, std::string_view choices) {
  if (!choices.empty()) return "COMPREPLY=($(compgen -W " + in_quotes(choices) + " -- \"$cur\"))";
  if (kind == ValueKind::file) return "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\"))";
  if (kind == ValueKind::folder) return "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$cur\"))";
  return "COMPREPLY=()";
}

std::string bash_script() {
  std::string script =
      "# bash completion for opsagent\n"
      "_opsagent() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W " +
      in_quotes(command_list() + " --help --version") + " -- \"$cur\"))\n    return\n  fi\n  case $prev in\n";
  for (const OptionRow& row : option_rows())
    if (row.kind != ValueKind::none)
      script += "    --" + std::string(row.name) + ") " + bash_words(row.kind, row.choices) + "; return ;;\n";
  script += "  esac\n  case $command in\n";
  for (const CommandRow& command : command_rows()) {
    std::string options;
    for (const OptionRow& row : option_rows())
      if (row.applies_to(command.command))
        options += (options.empty() ? "--" : " --") + std::string(row.name);
    script += "    " + std::string(command.name) +
              ")\n      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W " + in_quotes(options) +
              " -- \"$cur\"))\n      else ";
    if (command.command == CommandName::states)
      script += "COMPREPLY=($(compgen -W \"" + std::string(kStateNames) + "\" -- \"$cur\"))";
    else
      script += bash_words(command.argument_kind, command.argument_choices);
    script += "\n      fi ;;\n";
  }
  return script + "  esac\n}\ncomplete -F _opsagent opsagent\n";
}

// ---- zsh

std::string zsh_action(ValueKind kind, std::string_view choices) {
  if (!choices.empty()) return "(" + std::string(choices) + ")";
  return kind == ValueKind::file ? "_files" : kind == ValueKind::folder ? "_files -/" : "";
}

// In an option's description of _arguments, brackets end it and a colon ends the field.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_script() {
  std::string script = "#compdef opsagent\n_opsagent() {\n  local -a commands\n  commands=(\n";
  for (const CommandRow& command : command_rows())
    script += "    " + in_quotes(std::string(command.name) + ":" + zsh_text(command.summary)) + "\n";
  script +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (const CommandRow& command : command_rows()) {
    script += "    " + std::string(command.name) + ")\n      _arguments";
    for (const OptionRow& row : option_rows()) {
      if (!row.applies_to(command.command)) continue;
      std::string spec =
          (row.repeatable ? "*--" : "--") + std::string(row.name) + "[" + zsh_text(row.doc) + "]";
      if (row.kind != ValueKind::none)
        spec += ":" + std::string(row.placeholder) + ":" + zsh_action(row.kind, row.choices);
      script += " \\\n        " + in_quotes(spec);
    }
    if (command.command == CommandName::states)
      script += " \\\n        \"1:NAME:(" + std::string(kStateNames) + ")\"";
    else if (!command.argument.empty())
      script += " \\\n        " + in_quotes("1:" + std::string(command.argument) + ":" +
                                            zsh_action(command.argument_kind, command.argument_choices));
    script += "\n      ;;\n";
  }
  return script +
         "  esac\n}\nif [ \"$funcstack[1]\" = _opsagent ]; then _opsagent \"$@\"; else compdef _opsagent "
         "opsagent; fi\n";
}

// ---- fish

std::string fish_script() {
  std::string script = "# fish completion for opsagent\ncomplete -c opsagent -f\n";
  for (const CommandRow& command : command_rows()) {
    script += "complete -c opsagent -n __fish_use_subcommand -a " + std::string(command.name) + " -d " +
              in_quotes(command.summary) + "\n";
    const std::string here =
        "complete -c opsagent -n '__fish_seen_subcommand_from " + std::string(command.name) + "'";
    for (const OptionRow& row : option_rows()) {
      if (!row.applies_to(command.command)) continue;
      script += here + " -l " + std::string(row.name);
      if (row.letter) script += std::string(" -s ") + row.letter;
      if (!row.choices.empty())
        script += " -x -a " + in_quotes(row.choices);
      else if (row.kind == ValueKind::folder)
        script += " -x -a '(__fish_complete_directories)'";
      else if (row.kind != ValueKind::none)
        script += row.kind == ValueKind::file ? " -r -F" : " -x";
      script += " -d " + in_quotes(row.doc) + "\n";
    }
    if (command.command == CommandName::states)
      script += here + " -a '(opsagent states --quiet)'\n";
    else if (!command.argument_choices.empty())
      script += here + " -a " + in_quotes(command.argument_choices) + "\n";
    else if (command.argument_kind == ValueKind::file)
      script += here + " -F\n";
  }
  return script;
}

}  // namespace

int completion_command(const Options& options, Console& console) {
  if (options.argument == "bash")
    console.out.write(bash_script());
  else if (options.argument == "zsh")
    console.out.write(zsh_script());
  else if (options.argument == "fish")
    console.out.write(fish_script());
  else {
    console.complain("there is no completion for '" + options.argument +
                     "'; there is for bash, zsh and fish");
    return kFailure;
  }
  return kOk;
}

}  // namespace agent::cli
