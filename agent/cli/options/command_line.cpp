#include "agent/cli/options/command_line.hpp"

namespace agent::cli {

base::Result<Options> parse_options(const terminal::OptionSources& sources) {
  auto options = terminal::parse_command_line<Options>(command_table(), sources);
  if (options && !options->help && !options->version && options->state_dir.empty())
    options->state_dir = default_state_dir();
  return options;
}

}  // namespace agent::cli
