// Watchers: the states of a recipe that watch files, for those who are about to write one.
//
// A file that has drifted and is put back by an earlier state is just what it was when its service last
// reacted, but the service may have read what was there in between. So before a change is made, whoever
// watches what it writes has to react again, whatever is there afterwards (WatchStore). One thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/engine/managed_host.hpp"
#include "agent/engine/messages.hpp"
#include "agent/engine/watches/watch_store.hpp"
#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "recipe/recipe.hpp"
#include "states/plan.hpp"

namespace agent::engine {

class Watchers {
 public:
  Watchers(WatchStore& store, ManagedHost& machine) : store_(store), machine_(machine) {}

  // Before `plan` is applied by the state with the key `writer` (which may be of another recipe). A plan that
  // says what it writes counts by that; of one that may write anything, what differs now is remembered, so
  // that it may be put back.
  base::Result<void> before_change(const recipe::Recipe& recipe, const RunRound& round,
                                   std::string_view writer, const states::Plan& plan,
                                   base::Interrupt& interrupt);

 private:
  struct Written;

  const std::vector<std::size_t>& of(const recipe::Recipe& recipe);
  bool is_written(std::string_view watched, const std::vector<Written>& written);
  const std::string& real_path(std::string_view watched);

  WatchStore& store_;
  ManagedHost& machine_;
  std::string digest_;                                    // of the recipe that …
  std::vector<std::size_t> watching_;                     // … has watching states at these places
  RunRound round_;                                        // in which …
  std::map<std::string, std::string, std::less<>> real_;  // … watched paths lead to these
};

}  // namespace agent::engine
