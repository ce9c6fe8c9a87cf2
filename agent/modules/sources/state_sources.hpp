// StateSources: the state types that a recipe may name: the native ones, those of a folder of this machine
// (--module-dir), and those of a module repository that was fetched. Immutable; any thread may read it. With
// the last recipe that has its registry, the processes of its modules end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/modules/host/module_host.hpp"
#include "base/result.hpp"
#include "modules/fetch/fetch.hpp"
#include "recipe/recipe.hpp"
#include "states/registry.hpp"

namespace agent::modules {

// What the configuration of this machine says of modules.
struct ModuleSettings {
  std::string folder;                // of --module-dir; "": none
  std::vector<std::string> winners;  // modules that take the place of the native state of their name
  std::string agent_version;         // for compat.txt
  ::modules::fetch::FetchSettings fetch;
};

// The repository whose modules are among the types.
struct FetchedSource {
  recipe::ModuleSource named;  // as the recipe says it
  std::string commit;          // that it stands for
  std::string signer;          // who has signed it; "": nobody was asked for
};

class StateSources : public std::enable_shared_from_this<StateSources> {
 public:
  using Opened = base::Result<std::shared_ptr<const StateSources>>;

  // The native states and those of the folder. An Error has a line for each thing that is wrong with its
  // modules. A folder that others could change is refused: what is in it runs as this user.
  static Opened open(const ModuleSettings& settings);

  // These and the modules of what was fetched, without those whose names the folder has: who configures this
  // machine decides. The repository must be for this version of the agent.
  Opened with(const recipe::ModuleSource& named, ::modules::fetch::Fetched fetched) const;

  // Lives as long as this does: whoever keeps it keeps all of it.
  std::shared_ptr<const states::Registry> registry() const;
  // Nothing when there are only the native states and the folder's.
  const std::optional<FetchedSource>& fetched() const { return fetched_; }
  // Its modules; null without one.
  const ModuleHost* repository() const { return repository_.get(); }

 private:
  explicit StateSources(const ModuleSettings& settings) : settings_(settings) {}
  base::Result<void> index();

  const ModuleSettings settings_;
  std::vector<states::RegistryEntry> native_;
  std::vector<states::RegistryEntry> of_repository_;
  std::shared_ptr<ModuleHost> folder_;
  std::unique_ptr<ModuleHost> repository_;
  ::modules::fetch::Checkout checkout_;  // keeps the files of the repository
  std::optional<FetchedSource> fetched_;
  std::optional<states::Registry> registry_;
};

// The modules of a folder, checked: closed to others, without problems, for this version of the agent.
base::Result<::modules::ModuleSet> open_module_set(const std::string& folder, std::string_view agent_version);

}  // namespace agent::modules
