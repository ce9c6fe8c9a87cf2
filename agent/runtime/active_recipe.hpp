// ActiveRecipe: recipes on their way from the backend to the worker. Loads and checks them, keeps the last
// one that was fine, and knows which of its waits are open. One thread.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/engine/satisfied_waits.hpp"
#include "agent/runtime/recipe_store.hpp"
#include "protocol/agent_session.hpp"
#include "states/registry.hpp"

namespace agent::runtime {

using Problems = std::vector<std::string>;

class ActiveRecipe {
 public:
  // `waits`: what a run before was told; read once.
  ActiveRecipe(RecipeStore& store, states::Registry registry, const std::string& waits);

  // The stored recipe, to start with; nothing when there is none. Problems: there is one that cannot be used.
  std::variant<std::optional<engine::RunRecipe>, Problems> start();

  // A new one: checked, stored, current. On problems the old one stays.
  std::variant<engine::RunRecipe, Problems> take(const protocol::RecipeMetadata& metadata);

  // The same states under another version.
  base::Result<void> move_version(std::int64_t version, const std::optional<protocol::ModuleSource>& module);

  // A recipe that is only to be planned; not kept.
  std::variant<std::shared_ptr<const recipe::Recipe>, Problems> load(const std::string& name,
                                                                     const std::string& states) const;

  void wait_done(std::int64_t version, const std::string& id) { done_.emplace(version, id); }
  // The wait states of the current recipe that nobody has said to be done.
  std::vector<protocol::at_agent::OpenWait> open_waits() const;

  const std::optional<StoredRecipe>& current() const { return store_.current(); }
  // Whether current() is what the worker has.
  bool is_loaded() const { return recipe_ && store_.current(); }
  std::size_t states() const { return recipe_ ? recipe_->states().size() : 0; }

 private:
  bool is_done(std::int64_t version, const std::string& id) const;

  RecipeStore& store_;
  const states::Registry registry_;
  const engine::SatisfiedWaits heard_before_;
  std::set<std::pair<std::int64_t, std::string>> done_;  // heard since
  std::shared_ptr<const recipe::Recipe> recipe_;
};

}  // namespace agent::runtime
