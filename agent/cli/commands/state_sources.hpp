// The state types that a command works with: the native ones, and those of --module-dir.
#pragma once

#include <memory>
#include <vector>

#include "agent/cli/options/options.hpp"
#include "agent/modules/host/module_host.hpp"
#include "base/result.hpp"
#include "states/registry.hpp"

namespace agent::cli {

// Recipes that were read with its registry must not outlive it.
class StateSources {
 public:
  // An Error has a line for each thing that is wrong with the modules. A folder that others could change is
  // refused: what is in it runs as this user.
  static base::Result<StateSources> open(const Options& options);

  states::Registry registry() const;
  // Null without --module-dir.
  const ::modules::ModuleSet* modules() const { return host_ ? &host_->set() : nullptr; }

 private:
  StateSources() = default;

  std::vector<states::RegistryEntry> native_;
  std::unique_ptr<modules::ModuleHost> host_;
};

// The modules of the folder, checked: closed to others, without problems, for this version of the agent.
base::Result<::modules::ModuleSet> open_module_set(const std::string& folder);

}  // namespace agent::cli
