#include "agent/cli/options.hpp"
#include "agent/cli/wrap.hpp"
#include "base/text.hpp"

namespace agent::cli {

namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kColumn = 26;  // where descriptions of options start

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

std::string option_line(const OptionRow& row) {
  std::string left = row.letter ? std::string("  -") + row.letter + ", --" : std::string("      --");
  left += row.name;
  if (row.kind != ValueKind::none) left.append(" ").append(row.placeholder);
  return wrap(row.doc, padded(std::move(left), kColumn), std::string(kColumn, ' '), kWidth) + "\n";
}

std::string options_of(CommandName command) {
  std::string text = "\nOptions:\n";
  for (const OptionRow& row : option_rows())
    if (row.applies_to(command)) text += option_line(row);
  return text;
}

std::string top_help() {
  std::string text =
      "opsagent makes a machine what its recipe says, and keeps it so.\n\n"
      "Usage: opsagent COMMAND [OPTIONS]\n\nCommands:\n";
  for (const CommandRow& row : command_rows())
    text += padded("  " + std::string(row.name), 14) + std::string(row.summary) + "\n";
  text += options_of(CommandName::none);
  return text +
         "\nExamples:\n"
         "  opsagent plan web.yaml          what would change?\n"
         "  opsagent apply web.yaml         change it\n"
         "  opsagent states linux.file      how is a file described?\n"
         "\n'opsagent COMMAND --help' explains a command.\n";
}

}  // namespace

std::string help_text(CommandName command) {
  if (command == CommandName::none) return top_help();
  const CommandRow& row = command_row(command);
  std::string text = "Usage: opsagent " + std::string(row.name) +
                     (row.argument.empty() ? "" : " " + std::string(row.argument)) + " [OPTIONS]\n\n";
  for (const std::string_view paragraph : base::split(row.description, '\n'))
    text += wrap(paragraph, "", "", kWidth) + "\n";
  text += options_of(command) + "\nExamples:\n";
  for (const std::string_view example : base::split(row.examples, '\n'))
    text.append("  ").append(example).append("\n");
  if (find_option("config")->applies_to(command))
    text +=
        "\nOptions may also stand in the environment (OPSAGENT_STATE_DIR for --state-dir) and in\n"
        "/etc/opsagent.conf (state_dir = DIR, or --state-dir=DIR); the command line wins, then the "
        "environment.\n";
  return text;
}

}  // namespace agent::cli
