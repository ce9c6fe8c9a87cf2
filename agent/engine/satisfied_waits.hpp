// SatisfiedWaits: which wait states are done, per recipe version. In memory, and no more than a set.
//
// Two objects have one. The owner of the truth is runtime::ActiveRecipe, on the loop's thread: it hears of a
// wait first, and its WaitStore is the only one that reads and writes the file. The worker has a copy, on its
// own thread, of what it was told: RunRecipe and MoveVersion say what is known, WaitDone what is new.
// Nothing here fails.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace agent::engine {

class SatisfiedWaits {
 public:
  using StateIds = std::set<std::string, std::less<>>;

  // False: that was known.
  bool mark_done(std::int64_t version, const std::string& state_id);
  bool is_done(std::int64_t version, std::string_view state_id) const;
  std::vector<std::string> done_in(std::int64_t version) const;
  // What is done in other versions is of no use any more: their numbers may come again, for other recipes.
  // False: there was nothing.
  bool forget_all_but(std::int64_t version);
  // A recipe is about to have this version: nothing is done in it yet. False: there was nothing.
  bool forget(std::int64_t version);
  bool forget_all();

  const std::map<std::int64_t, StateIds>& all() const { return done_; }

 private:
  std::map<std::int64_t, StateIds> done_;
};

}  // namespace agent::engine
