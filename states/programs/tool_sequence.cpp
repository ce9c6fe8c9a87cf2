#include "states/programs/tool_sequence.hpp"

#include "base/output_text.hpp"
#include "base/text.hpp"

namespace states::programs {

namespace {

// Tools say why they give up in their last line, as a rule behind their own name.
std::string last_words(const std::string& program, const std::string& output) {
  const auto lines = base::split(output, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    std::string_view text = base::trim(*line);
    if (text.starts_with(program + ": ")) text.remove_prefix(program.size() + 2);
    if (!text.empty()) return std::string(text);
  }
  return "it said nothing";
}

}  // namespace

base::Result<void> ToolSequence::run(std::vector<std::string> argv) {
  base::Command command;
  command.argv = std::move(argv);
  return run(std::move(command));
}

base::Result<void> ToolSequence::run(base::Command command) {
  const std::string program = command.argv.front();
  auto completed = commands_.run(std::move(command));
  if (!completed) {
    keep(base::clean_output(commands_.interrupted_output()));
    return std::move(completed).error();
  }
  const std::string printed = base::clean_output(completed->output);
  keep(printed);
  if (completed->ok()) return {};
  const std::string how = completed->ending == base::Ending::exited
                              ? "exit " + std::to_string(completed->exit_code)
                              : "signal " + std::to_string(completed->signal);
  const std::string why = may_quote_ ? ": " + last_words(program, printed) : std::string();
  return base::Error(base::ErrorCode::io, program + " failed (" + how + ")" + why);
}

void ToolSequence::keep(const std::string& output) {
  if (output.empty()) return;
  if (!output_.empty()) output_ += output_.ends_with('\n') ? "\n" : "\n\n";
  output_ += output;
}

}  // namespace states::programs
