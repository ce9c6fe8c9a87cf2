#include "agent/cli/console.hpp"

namespace agent::cli {

namespace {

std::optional<bool> colour(ColorWhen when) {
  return when == ColorWhen::automatic ? std::nullopt : std::optional(when == ColorWhen::always);
}

}  // namespace

terminal::Console make_console(const Options& options, std::shared_ptr<base::Redactor> redactor) {
  return terminal::Console(
      {.program = "opsagent", .colour = colour(options.color), .live = !options.json && !options.quiet},
      std::move(redactor));
}

}  // namespace agent::cli
