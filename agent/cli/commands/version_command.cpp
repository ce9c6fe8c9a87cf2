#include "agent/cli/commands/commands.hpp"
#include "agent/cli/commands/version.hpp"

namespace agent::cli {

const std::string_view kVersion = OPSAGENT_VERSION;

int version_command(const Options&, terminal::Console& console) {
  console.out.line("opsagent " + std::string(kVersion));
  return kOk;
}

}  // namespace agent::cli
