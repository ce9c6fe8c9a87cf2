// ManagedHost: the host as states see it, with all that is remembered about it for a while. One thread: the
// worker's, or the planner's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/tree/tree_writer.hpp"
#include "recipe/recipe.hpp"
#include "states/context.hpp"
#include "states/state.hpp"

namespace agent::engine {

class ManagedHost {
 public:
  ManagedHost(const states::Host& host, base::SyncGroup& sync)
      : host_(host), tree_(host.root), accounts_(host.root), writer_(tree_, sync) {}

  const states::Host& host() const { return host_; }
  base::Tree& tree() { return tree_; }
  base::TreeWriter& files() { return writer_; }

  // Whether a state is to run at all. `overlay`: what earlier states would have done, while planning.
  struct Condition {
    bool holds = true;
    std::string problem{};  // why it cannot be told: a link on the way that is not to be followed
    const states::Overlay::Entry* depends_on = nullptr;  // who may yet make it hold, or not; in the overlay
  };
  Condition check(const recipe::When& when, const states::Overlay& overlay);

  // Why a state cannot work on this machine (wrong distribution, another root), if so.
  std::optional<std::string> refusal(const states::StateType& type) const;

  // What a state needs, for as long as the parts live.
  struct Parts {
    std::string_view state_id;
    const states::Overlay& overlay;
    states::Commands& commands;
    base::Interrupt& interrupt;
    states::Waits& waits;
    bool watch_triggered = false;
    std::span<const std::string> watch_changed{};
    std::span<const std::string> watch_reacted{};
    const states::Orders* orders = nullptr;
    bool sensitive = false;
    bool wants_diffs = true;
    bool plans_only = false;
    std::string_view plan_salt{};
    const base::Redactor* redactor = nullptr;
    bool is_paced = false;
    std::span<const states::RecipePart> recipe{};
  };
  states::ApplyContext context(const Parts& parts);

  // A round starts: everything is looked at anew.
  void new_round();
  // A program has run: it may have changed anything.
  void invalidate_caches();

 private:
  const states::Host& host_;
  base::Tree tree_;
  base::Accounts accounts_;
  base::TreeWriter writer_;
  states::Cache facts_;
  states::Cache notes_;
};

}  // namespace agent::engine
