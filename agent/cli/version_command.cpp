#include "agent/cli/commands.hpp"

namespace agent::cli {

int version_command(Console& console) {
  console.out.line("opsagent " OPSAGENT_VERSION);
  return kOk;
}

}  // namespace agent::cli
