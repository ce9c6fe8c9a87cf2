#include "agent/cli/commands/commands.hpp"
#include "agent/cli/options/command_line.hpp"
#include "terminal/completion.hpp"

namespace agent::cli {

int completion_command(const Options& options, terminal::Console& console) {
  const auto script = terminal::completion_script(command_table(), options.argument());
  if (!script) {
    console.complain(script.error().message());
    return kFailure;
  }
  console.out.write(*script);
  return kOk;
}

}  // namespace agent::cli
