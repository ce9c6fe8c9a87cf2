// WaitIndex: which wait states have come true. In memory, pure, one thread: the loop's.
//
// A state of an instance is done when it has succeeded under the instance's present recipe_version, or a
// later state of that instance has reported anything under it (states run in order, each after the success of
// the one before), or a whole round has succeeded. A wait is satisfied when all its targets are done; a
// selector's targets are the instances that it matches now, and at least one must be there. When an awaited
// machine gets another recipe, its states are not done any more, and the wait is open again. A revoked
// machine is not there; one that an operator has excluded is not meant by selectors, and counts as done where
// it is waited for by name.
//
// Nothing here is stored: it is filled from Store::each_instance_progress() at the start, which has all of
// it, whatever retention has removed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend/domain/model.hpp"
#include "backend/domain/placement/placement.hpp"

namespace backend::domain {

// The waiting state has come true just now.
struct Satisfied {
  InstanceKey instance = 0;
  std::int64_t recipe_version = 0;
  std::string state_id;
  Millis at = 0;
};

struct WaitStatus {
  std::string state_id;
  std::vector<protocol::StateRef>
      open;  // what is still waited for; instance_id "selector: …" when nobody matches
  std::optional<Millis> satisfied_at;
};

// A machine that others wait for, and how many wait states it holds up.
struct WaitHolder {
  InstanceKey instance = 0;
  std::size_t waiting = 0;
};

// Answers only what has come true just now. A wait that is satisfied when its instance gets the recipe is in
// waits_of() from the start, and is told with the recipe.
class WaitIndex {
 public:
  WaitIndex();
  ~WaitIndex();
  WaitIndex(WaitIndex&&) noexcept;
  WaitIndex& operator=(WaitIndex&&) noexcept;

  // A new instance, or one whose version, placement, tags or facts have changed. `states` is read_states() of
  // its placement, shared between instances; null: nothing.
  std::vector<Satisfied> set_instance(const InstanceProgress& progress,
                                      std::shared_ptr<const StateList> states, Millis now);
  std::vector<Satisfied> remove_instance(InstanceKey instance, Millis now);

  // Reports, after they were stored. One hash look-up when nobody waits for the instance.
  std::vector<Satisfied> on_report(InstanceKey instance, const Report& report, Millis now);

  // What an instance has been given; null: nothing.
  struct Given {
    std::shared_ptr<const StateList> states;
    std::int64_t recipe_version = 0;
  };
  Given given(InstanceKey instance) const;

  // The waits of an instance, in the order of its states: for WaitQuery, after a handshake, and for lists.
  std::vector<WaitStatus> waits_of(InstanceKey instance) const;
  // The waits of an instance that are open, as WaitList has them: each by its own id, with one of its targets
  // at least, so that an agent which takes what is missing for done takes none of these for done. Other
  // targets only as far as there is room. Nothing: there are more waits than a list can name.
  std::optional<protocol::WaitList> wait_list(InstanceKey instance) const;
  // Instances that have wait states, in the order of their keys.
  std::vector<InstanceKey> waiting_instances() const;
  // Who holds up others, those with most first. `among`: only these count as held up; null: all.
  std::vector<WaitHolder> holders(std::size_t most,
                                  const std::unordered_set<InstanceKey>* among = nullptr) const;
  // How many wait states are open. `app_id` "": of all apps.
  std::size_t open_count(std::string_view app_id = {}) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace backend::domain
