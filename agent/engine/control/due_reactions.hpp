// DueReactions: which states have still to follow a change that another state has made: to run
// (`on_change_of`), or to have their services restarted or reloaded (`restart_on`, `reload_on`).
//
// A file, to which lines are appended (docs/formats.md). That a change is begun is in it before the change is
// made, and on disk before the journal lets go of the change; that it is made, once the state has succeeded;
// and it is over when the follower has. Whatever ends us in between, the reaction is still due.
//
// A change counts when the state that makes it is right: one that has failed is followed when it has
// succeeded, also if nothing was left to do by then. Followers are known by the ids of the states, so another
// recipe finds what is due, too; those that have left their recipes are forgotten after 90 days.
//
// Several processes may have the file open; whoever holds the RunLock reads and writes it. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "agent/engine/messages.hpp"
#include "base/result.hpp"
#include "base/tree/sync_group.hpp"
#include "base/unique_fd.hpp"
#include "recipe/recipe.hpp"

namespace agent::engine {

class DueReactions {
 public:
  // What is about to be written is noted in `sync`.
  DueReactions(std::string path, base::SyncGroup& sync) : path_(std::move(path)), sync_(sync) {}

  // Reads the file, as others may have left it. Call it when the RunLock was taken. A torn or damaged line is
  // passed over.
  base::Result<void> load();
  // The same without a file of one's own, for a plan: nothing is written.
  base::Result<void> look();

  // From now on it is about this recipe: a change that was begun by a state which is not followed any more,
  // or has left the recipe, is due, since nobody will say what became of it.
  void adopt(const std::string& root, const recipe::Recipe& recipe);

  // The state at `place` is about to be changed.
  base::Result<void> begin(const std::string& root, const recipe::Recipe& recipe, std::size_t place);
  // It has succeeded: it was changed just now, or was right already. `begun_in`: the round of a killed run
  // that had made the change, else null; who has followed in that round need not do so again.
  base::Result<void> succeeded(const std::string& root, const recipe::Recipe& recipe, std::size_t place,
                               bool changed, const RunRound* begun_in = nullptr);

  enum class Status { nothing, begun, due };
  Status status(const std::string& root, std::string_view follower, recipe::Reaction reaction,
                std::string_view followed) const;
  // All that the follower has to follow, whether or not it says so still. By ids, in no order that matters.
  struct Followed {
    std::string id;
    Status status = Status::nothing;
  };
  std::vector<Followed> all(const std::string& root, std::string_view follower,
                            recipe::Reaction reaction) const;
  bool has_any(const std::string& root, std::string_view follower) const;
  // Those of `parts` that have done all that is due.
  std::vector<std::string> done_parts(const std::string& root, std::string_view follower,
                                      recipe::Reaction reaction, const std::vector<std::string>& parts) const;

  // These parts of the follower have reacted, though it has failed.
  base::Result<void> reacted(const std::string& root, std::string_view follower,
                             const std::vector<std::string>& parts);
  // It has succeeded. `report`: the key of its result (report_key).
  base::Result<void> followed(const std::string& root, std::string_view follower, const std::string& report);
  // Whether that was the result with which it succeeded last, as far as is known since the last tidy().
  bool has_followed(const std::string& root, std::string_view follower, const std::string& report) const;

  // On return, all that was written is on disk.
  base::Result<void> sync();
  // The round is over, and has been told if `is_told`: the file is made small again when it has grown, and
  // what states that are in no recipe any more have not followed for 90 days is forgotten.
  base::Result<void> tidy(const std::string& root, const recipe::Recipe& recipe, bool is_told);

  static constexpr std::chrono::seconds kForgottenAfter = std::chrono::hours(24 * 90);
  static constexpr std::size_t kMost = 200'000;

 private:
  using Key =
      std::tuple<std::string, std::string, recipe::Reaction, std::string>;  // root, follower, …, followed
  struct Entry {
    Status status = Status::begun;
    std::set<std::string> reacted;  // parts of the follower
    std::int64_t at = 0;            // seconds since 1970
  };
  using Entries = std::map<Key, Entry>;

  static Key key(const std::string& root, std::string_view follower, recipe::Reaction reaction,
                 std::string_view followed);
  std::string text(const Key& key, const Entry& entry) const;
  std::string text(const std::string& root, std::string_view follower, const std::string& report) const;
  void take(std::string_view line);
  base::Result<void> read();
  base::Result<void> open();
  base::Result<void> append(const std::string& lines);
  base::Result<void> set(const Key& key, Entry entry);
  base::Result<void> rewrite();

  const std::string path_;
  base::SyncGroup& sync_;
  base::UniqueFd fd_;
  Entries entries_;
  std::map<std::pair<std::string, std::string>, std::string> last_;  // by root and follower: a report's key
  std::size_t lines_ = 0;                                            // in the file
  bool is_dirty_ = false;                                            // written since the last sync
};

}  // namespace agent::engine
