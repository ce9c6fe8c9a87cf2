#include <unistd.h>

#include "agent/cli/commands/commands.hpp"
#include "agent/cli/input/replace_file.hpp"
#include "base/diff.hpp"
#include "base/files/file_read.hpp"
#include "recipe/format/format.hpp"
#include "terminal/wrap.hpp"

namespace agent::cli {

namespace {

constexpr int kNotFormatted = 2;
constexpr std::size_t kMostDiffLines = 2000;

enum class Outcome { same, different, failed };

void complain_of(const std::string& path, const std::string& message, recipe::Position position,
                 terminal::Console& console) {
  std::string text = path == "-" ? "<stdin>" : path;
  if (position.line > 0) text += ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
  console.err.line(terminal::printable(text + ": " + message));
}

Outcome format_one(const std::string& path, const Options& options, terminal::Console& console) {
  const auto fail = [&](const std::string& message, recipe::Position position = {}) {
    complain_of(path, message, position, console);
    return Outcome::failed;
  };
  const auto text = path == "-" ? base::read_all(STDIN_FILENO, recipe::format::kLargest, "standard input")
                                : base::read_file(path, recipe::format::kLargest);
  if (!text) return fail(text.error().message());
  if (recipe::guess_syntax(path, *text) == recipe::Syntax::json)
    return fail("it is JSON, and this formats YAML; 'jq .' formats JSON");
  const auto made = recipe::format::format_recipe(*text);
  if (const auto* refusal = std::get_if<recipe::format::Refusal>(&made))
    return fail("not formatted: " + refusal->message, refusal->position);
  const std::string& formatted = std::get<std::string>(made);
  const bool is_same = formatted == *text;
  if (options.format_diff) {
    if (is_same) return Outcome::same;
    const std::string name = terminal::printable(path == "-" ? "<stdin>" : path);
    console.out.line("--- " + name + "\n+++ " + name + " (formatted)");
    console.out.write(terminal::printable(base::unified_diff(*text, formatted, kMostDiffLines), true));
    return Outcome::different;
  }
  if (options.format_check) {
    if (!is_same && !options.quiet) console.out.line(terminal::printable(path) + ": not formatted");
    return is_same ? Outcome::same : Outcome::different;
  }
  if (path == "-") {
    console.out.write(formatted);
    return Outcome::same;
  }
  if (is_same) return Outcome::same;
  if (auto replaced = replace_file(path, *text, formatted); !replaced)
    return fail(replaced.error().message());
  if (!options.quiet) console.out.line(terminal::printable(path) + ": formatted");
  return Outcome::same;
}

}  // namespace

int fmt_command(const Options& options, terminal::Console& console) {
  int status = kOk;
  for (const std::string& path : options.arguments) {
    const Outcome outcome = format_one(path, options, console);
    if (outcome == Outcome::failed) status = kNotFormatted;
    if (outcome == Outcome::different && status == kOk) status = kFailure;
  }
  return status;
}

}  // namespace agent::cli
