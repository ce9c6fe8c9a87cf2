#include "agent/cli/console.hpp"

namespace agent::cli {

namespace {

std::optional<bool> colour(ColorWhen when) {
  return when == ColorWhen::automatic ? std::nullopt : std::optional(when == ColorWhen::always);
}

}  // namespace

Console::Console(const Options& options, std::shared_ptr<base::Redactor> the_redactor)
    : terminal::Console(
          {.program = "opsagent", .colour = colour(options.color), .live = !options.json && !options.quiet},
          std::move(the_redactor)) {}

}  // namespace agent::cli
