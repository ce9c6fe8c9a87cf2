// RoundControl: what the control keys of a recipe (recipe/control.hpp) make of one round: whether a state
// runs, why not, and which orders its services have. The same for a plan and for a run: both say what became
// of each state, or would, as they go.
//
// It only reads; what is remembered from round to round is in DueReactions and OnceStore. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/engine/control/due_reactions.hpp"
#include "agent/engine/control/once_store.hpp"
#include "base/result.hpp"
#include "recipe/recipe.hpp"
#include "states/context.hpp"

namespace agent::engine {

// What became of a state in this round, or would become of it.
enum class Became {
  nothing,  // not reached, or passed by: its condition does not hold, or it has nothing to follow
  kept,
  changed,
  failed,
  blocked,  // it requires a state that has failed
  unknown,  // in a plan: it depends on an earlier one
};

// Whether a state runs.
struct Gate {
  enum class Way { open, skip, wait } way = Way::open;
  bool is_blocked = false;         // skip: it requires a state that has failed
  std::string why{};               // skip, wait: in words. open: why it runs, if another state is the reason
  std::string depends_on{};        // wait: id of the earlier state
  std::optional<DoneOnce> done{};  // skip: it was done once, this time
  states::Orders orders{};
  std::optional<std::string> problem{};  // it cannot be told: the state fails
};

class RoundControl {
 public:
  // `is_plan`: nothing is changed, and words are about what would happen.
  RoundControl(DueReactions& due, OnceStore& once, bool is_plan)
      : due_(due), once_(once), is_plan_(is_plan) {}

  // A round of this recipe begins.
  void begin(const recipe::Recipe& recipe, const std::string& root);
  Gate gate(std::size_t place);
  void note(std::size_t place, Became became);

 private:
  struct Cause {
    std::vector<std::string> ids;  // of the states that have changed something
    std::string unknown;           // the first of those of which it is not known; in a plan
    bool is_new = false;           // in a plan: one of them would be, and nobody has reacted to it yet
  };
  Cause cause_of(std::size_t place, recipe::Reaction reaction) const;
  bool is_blocked(std::size_t place, Gate& gate);
  bool is_done_once(std::size_t place, Gate& gate);
  bool is_held_back(std::size_t place, Gate& gate) const;
  bool has_unknown_orders(std::size_t place, Gate& gate) const;
  std::string_view id_of(std::size_t place) const { return recipe_->states()[place].id; }

  DueReactions& due_;
  OnceStore& once_;
  const bool is_plan_;
  const recipe::Recipe* recipe_ = nullptr;
  std::string root_;
  std::vector<Became> became_;         // by place
  std::vector<std::size_t> to_blame_;  // of those that are blocked: the place of the state that has failed
};

// "'a', 'b'", and "and 8 more" where there are many.
std::string quoted_list(const std::vector<std::string>& ids);

// What the recipe says of the state; nothing, if it has none of these keys.
const recipe::Control& control_of(const recipe::State& state);

// The parts of a state that may have orders of their own; one, "", for the state as a whole.
std::vector<std::string> parts_of(const recipe::State& state);

}  // namespace agent::engine
