// MachineSecrets: what ${{ secret('name') }} is on this machine.
//
// Looked for in this order: a file NAME in the folder of secrets (/etc/opsagent/secrets), a systemd
// credential of that name ($CREDENTIALS_DIRECTORY), and what the configured program prints. A file that
// others could read or change is refused. The values are never in an Error.
#pragma once

#include <string>
#include <string_view>

#include "recipe/inputs.hpp"

namespace agent::inputs {

struct SecretSettings {
  std::string folder = "/etc/opsagent/secrets";
  std::string credentials = {};  // $CREDENTIALS_DIRECTORY; "": none
  std::string program = {};      // absolute; told the name as its only argument; "": none
};

// One thread at a time. Blocks: the program has ten seconds.
class MachineSecrets final : public recipe::SecretSource {
 public:
  explicit MachineSecrets(SecretSettings settings) : settings_(std::move(settings)) {}
  base::Result<std::string> secret(std::string_view name) override;

 private:
  base::Result<std::string> printed(std::string_view name) const;

  const SecretSettings settings_;
};

}  // namespace agent::inputs
