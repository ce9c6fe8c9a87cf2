// The command line of a program as data: every option and every command is one row.
//
// From the rows follow parsing (command_parser.hpp), help and the reference page (command_help.hpp),
// completion scripts (completion.hpp), and the names of options in the environment and in the config file. A
// table is constant: any thread may read it. Nothing here can fail.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace terminal {

struct CommandRow;
struct Console;

// What was asked for, as far as all programs share it. The options of a program derive from it.
struct CommandLine {
  const CommandRow* command = nullptr;  // null: no command was given
  std::string group;                    // "recipe", of "recipe --help"
  std::vector<std::string> arguments;   // what stands behind the command and is no option
  std::string config;                   // the file that --config names
  bool help = false;
  bool version = false;
  std::vector<std::string> remarks;  // about the config file, for whoever runs the program

  // The first argument; "" when there is none.
  std::string argument() const { return arguments.empty() ? std::string() : arguments.front(); }
};

enum class ValueKind { none, text, file, folder };  // none: a flag

// Which commands have an option.
enum class Scope {
  named,  // those whose row names it
  every,  // all, and it may stand without a command too
  top,    // none: it stands without a command
};

struct OptionRow {
  std::string_view name;  // "state-dir"; OPSAGENT_STATE_DIR in the environment, state_dir in the config file
  char letter = 0;        // "-q"
  ValueKind kind = ValueKind::none;
  std::string_view placeholder = {};  // "DIR"
  std::string_view doc;
  std::string_view choices = {};  // the accepted words, separated by blanks
  Scope scope = Scope::named;
  bool repeatable = false;    // each adds to what there is, wherever it stands
  bool configurable = false;  // may stand in the environment, and in the config file if the program has one
  // Puts the value into the program's options; see option_store.hpp. The error says what is accepted. Flags
  // get
  // "" or a word for true or false.
  base::Result<void> (*store)(CommandLine&, std::string_view value) = nullptr;
};

struct CommandRow {
  std::string_view name;            // "plan"; "recipe push" is "push" of the group "recipe"
  std::string_view arguments = {};  // "[NAME] FILE"; "" if it takes none
  std::size_t least = 0;            // arguments
  std::size_t most = 0;
  ValueKind argument_kind = ValueKind::none;
  std::string_view argument_choices = {};
  std::string_view argument_source = {};  // a command that prints the possible arguments, for completion
  std::string_view question = {};         // what a user is asked who gives fewer than `least`
  std::string_view options = {};  // names of its options, separated by blanks; not those of Scope::every
  std::string_view summary;
  std::string_view description = {};
  std::string_view examples = {};
  // Does it, and returns the exit status. Gets the program's own options; see run_by.
  int (*run)(const CommandLine&, Console&) = nullptr;
};

// The texts of help, and how it is laid out.
struct HelpTexts {
  std::string_view about;               // what the program is, and its usage
  std::string_view closing;             // the end of the program's help: examples, exit statuses
  std::string_view config_note = {};    // the end of the help of commands that read the config file
  std::size_t command_column = 0;       // where summaries of commands start
  std::size_t option_column = 0;        // where descriptions of options start
  bool summary_first = false;           // the help of a command begins with its summary
  std::string_view top_hint;            // "'PROGRAM --help' …", behind a mistake without a command
  std::string_view command_hint = {};   // the same with a command
  std::string_view commands_hint = {};  // behind a command that does not exist
};

// A config file of another program, said in the words of this one, line by line.
struct TranslatedConfig {
  std::string text;
  std::string remark;  // for people; "": there is nothing to say
};

struct CommandTable {
  std::string_view program;              // "opsagent"
  std::string_view default_config = {};  // "/etc/opsagent.conf"; "": this program has no config file
  std::span<const OptionRow> options;
  std::span<const CommandRow> commands;
  HelpTexts help;
  bool needs_command = true;  // false: the work is done without one; nothing but options is taken then
  bool options_before_command = false;  // those of Scope::every may stand before the command
  bool counts_arguments_last = false;   // wrong values are told first, and --help needs no right number
  // Asked for every config file; nothing: it is this program's own. Null: nobody is asked.
  std::optional<TranslatedConfig> (*translate_config)(std::string_view text) = nullptr;

  const CommandRow* find_command(std::string_view name) const;
  // Of several options with this name, the first.
  const OptionRow* find_option(std::string_view name) const;
  // Whether the command has this option; null: whether it may stand without a command.
  bool applies(const OptionRow& row, const CommandRow* command) const;

  // The first words of commands ("recipe"), each once, in order.
  std::vector<std::string_view> groups() const;
  // The second words below one ("push", "list" …); none when it is a command itself.
  std::vector<std::string_view> subcommands(std::string_view group) const;
  // Whether any command has two words.
  bool has_groups() const;

  // "OPSAGENT_STATE_DIR" of "state-dir".
  std::string environment_name(std::string_view option) const;
};

// Fits a command that takes a program's own options into a row: `.run = run_by<plan_command>`.
template <class Options>
int run_with(int (*command)(const Options&, Console&), const CommandLine& line, Console& console) {
  return command(static_cast<const Options&>(line), console);
}
template <auto Command>
int run_by(const CommandLine& line, Console& console) {
  return run_with(Command, line, console);
}

}  // namespace terminal
