// Completion scripts, from the same rows as parsing and help.
#include "base/text.hpp"
#include "ctl/commands.hpp"

namespace ctl {

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

std::string words(std::span<const std::string_view> all) {
  return base::join(std::vector<std::string>(all.begin(), all.end()), " ");
}

std::string options_of(const CommandRow& command) {
  std::string all;
  for (const OptionRow& row : option_rows())
    if (command.has_option(row)) all += (all.empty() ? "--" : " --") + std::string(row.name);
  return all;
}

// ---- bash

std::string bash_words(ValueKind kind, std::string_view choices) {
  if (!choices.empty()) return "COMPREPLY=($(compgen -W " + in_quotes(choices) + " -- \"$cur\"))";
  if (kind == ValueKind::file) return "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\"))";
  return "COMPREPLY=()";
}

std::string bash_script() {
  std::string script =
      "# bash completion for opsctl\n"
      "_opsctl() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    COMPREPLY=($(compgen -W " +
      in_quotes(words(command_groups()) + " --help --version") +
      " -- \"$cur\"))\n    return\n  fi\n  case $command in\n";
  for (const std::string_view group : command_groups())
    if (const auto below = subcommands(group); !below.empty())
      script += "    " + std::string(group) +
                ")\n      if [ \"$COMP_CWORD\" -eq 2 ]; then COMPREPLY=($(compgen -W " +
                in_quotes(words(below)) +
                " -- \"$cur\")); return; fi\n      command=\"$command ${COMP_WORDS[2]}\" ;;\n";
  script += "  esac\n  case $prev in\n";
  for (const OptionRow& row : option_rows())
    if (row.kind != ValueKind::none)
      script += "    --" + std::string(row.name) + (row.letter ? std::string("|-") + row.letter : "") + ") " +
                bash_words(row.kind, row.choices) + "; return ;;\n";
  script += "  esac\n  case $command in\n";
  for (const CommandRow& command : command_rows())
    script += "    " + in_quotes(command.name) +
              ")\n      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W " + in_quotes(options_of(command)) +
              " -- \"$cur\"))\n      else " + bash_words(command.argument_kind, command.argument_choices) +
              "\n      fi ;;\n";
  return script + "  esac\n}\ncomplete -F _opsctl opsctl\n";
}

// ---- zsh

std::string zsh_action(ValueKind kind, std::string_view choices) {
  if (!choices.empty()) return "(" + std::string(choices) + ")";
  return kind == ValueKind::file ? "_files" : "";
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
  std::string script = "#compdef opsctl\n_opsctl() {\n  local -a commands\n  commands=(\n";
  for (const std::string_view group : command_groups()) {
    const CommandRow* row = find_command(group);
    const std::string summary = row ? std::string(row->summary) : words(subcommands(group));
    script += "    " + in_quotes(std::string(group) + ":" + zsh_text(summary)) + "\n";
  }
  script +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (const std::string_view group : command_groups())
    if (const auto below = subcommands(group); !below.empty())
      script +=
          "    " + std::string(group) + ")\n      if (( CURRENT == 2 )); then compadd " + words(below) +
          "; return; fi\n      command=\"$command $words[2]\"\n      shift words\n      (( CURRENT-- )) ;;\n";
  script += "  esac\n  case $command in\n";
  for (const CommandRow& command : command_rows()) {
    script += "    " + in_quotes(command.name) + ")\n      _arguments";
    for (const OptionRow& row : option_rows()) {
      if (!command.has_option(row)) continue;
      std::string spec =
          (row.repeatable ? "*--" : "--") + std::string(row.name) + "[" + zsh_text(row.doc) + "]";
      if (row.kind != ValueKind::none)
        spec += ":" + std::string(row.placeholder) + ":" + zsh_action(row.kind, row.choices);
      script += " \\\n        " + in_quotes(spec);
    }
    if (!command.arguments.empty())
      script += " \\\n        " + in_quotes("*:" + zsh_text(command.arguments) + ":" +
                                            zsh_action(command.argument_kind, command.argument_choices));
    script += "\n      ;;\n";
  }
  return script +
         "  esac\n}\nif [ \"$funcstack[1]\" = _opsctl ]; then _opsctl \"$@\"; else compdef _opsctl opsctl; "
         "fi\n";
}

// ---- fish

std::string fish_script() {
  std::string script = "# fish completion for opsctl\ncomplete -c opsctl -f\n";
  for (const std::string_view group : command_groups()) {
    const CommandRow* row = find_command(group);
    const auto below = subcommands(group);
    script += "complete -c opsctl -n __fish_use_subcommand -a " + std::string(group) + " -d " +
              in_quotes(row ? std::string(row->summary) : words(below)) + "\n";
    for (const std::string_view each : below)
      script += "complete -c opsctl -n '__fish_seen_subcommand_from " + std::string(group) +
                "; and not __fish_seen_subcommand_from " + words(below) + "' -a " + std::string(each) +
                " -d " + in_quotes(find_command(std::string(group) + " " + std::string(each))->summary) +
                "\n";
  }
  for (const CommandRow& command : command_rows()) {
    const auto parts = base::split(command.name, ' ');
    std::string condition = "__fish_seen_subcommand_from " + std::string(parts.front());
    if (parts.size() > 1) condition += "; and __fish_seen_subcommand_from " + std::string(parts[1]);
    const std::string here = "complete -c opsctl -n " + in_quotes(condition);
    for (const OptionRow& row : option_rows()) {
      if (!command.has_option(row)) continue;
      script += here + " -l " + std::string(row.name);
      if (row.letter) script += std::string(" -s ") + row.letter;
      if (!row.choices.empty())
        script += " -x -a " + in_quotes(row.choices);
      else if (row.kind != ValueKind::none)
        script += row.kind == ValueKind::file ? " -r -F" : " -x";
      script += " -d " + in_quotes(row.doc) + "\n";
    }
    if (!command.argument_choices.empty())
      script += here + " -a " + in_quotes(command.argument_choices) + "\n";
    else if (command.argument_kind == ValueKind::file)
      script += here + " -F\n";
  }
  return script;
}

}  // namespace

std::string completion_script(std::string_view shell) {
  if (shell == "bash") return bash_script();
  if (shell == "zsh") return zsh_script();
  if (shell == "fish") return fish_script();
  return {};
}

base::Result<int> completion_command(const Options& options, terminal::Console& console) {
  const std::string script = completion_script(options.arguments.front());
  if (script.empty())
    return base::Error(base::ErrorCode::invalid, "there is no completion for '" + options.arguments.front() +
                                                     "'; there is for bash, zsh and fish");
  console.out.write(script);
  return kOk;
}

}  // namespace ctl
