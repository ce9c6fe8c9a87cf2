// WatchStore: which watched paths have changed since those who watch them last reacted.
//
// One record per state and path (watch_record.hpp): a file <folder>/<sid>-<path>.cksum, every "/" of its name
// replaced by "-". A record of the original agent (MD5) is understood, and replaced at the next success. A
// name that would be longer than a file name may be keeps its first bytes and ends in "-<SHA-256 of the whole
// name>.cksum"; of paths of one state that come to the same name, all but the first get theirs the same way,
// and so do states whose id leaves open where it ends ("a--b", "a-", "a/b").
//
// Records of states that have left their recipes stay for a while: a recipe that is rolled back restarts
// nothing. Those that nobody has used for 90 days go, except where somebody has yet to react.
//
// A regular file counts by its content, a folder by the names and contents of all that is below it
// (watched_folder.hpp); symlinks are followed as far as the agent follows any (base/tree/tree.hpp). What is
// missing, not for us to read, or of another kind is "absent", which equals an empty or missing record; a
// disk or a server that fails (EIO, ESTALE) is an error, and no reason to act. Of a file that
// is larger than 1 GiB the record holds the SHA-256 of its inode, size and time of change.
//
// That somebody has yet to react is on disk before anything is done that could hide it: before an earlier
// state writes the path (mark), and before the reaction itself (begin). It is over when he has succeeded.
//
// A file that has not changed is not read again in later rounds: its digest is remembered with the size,
// times and inode that it had. One thread.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/engine/watches/watch_record.hpp"
#include "agent/engine/watches/watched_folder.hpp"
#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "base/tree/tree.hpp"
#include "base/unique_fd.hpp"
#include "states/state.hpp"

namespace agent::engine {

// What was seen of one watched path.
struct Seen {
  std::string path;
  std::string record;                 // name of its record
  std::string digest;                 // empty: absent
  WatchRecord noted;                  // what the record says
  std::vector<std::string> to_react;  // the parts of the state for which it has changed
  bool is_recorded = false;           // the record says just what was seen
};

struct WatchState {
  bool triggered = false;
  std::vector<std::string> changed;  // the paths that are the reason
  std::vector<std::string>
      reacted;  // parts of the state that have nothing left to react to, if it is triggered
  std::vector<std::string> parts;  // all of them; the state as a whole is ""
  std::vector<Seen> seen;

  struct Unseen {
    std::string path;
    std::string why;  // "is not there"
  };
  std::vector<Unseen> unseen;  // watched, but there is nothing to watch
};

class WatchStore {
 public:
  // The folder is made (0700) when something is stored first.
  explicit WatchStore(std::string folder, FolderLimits limits = {})
      : folder_(std::move(folder)), limits_(limits) {}

  // Looks at what is watched, before the state runs. An Error: a record is there but cannot be read, a link
  // on the way to a file is not to be followed, a folder is too large, the disk fails, or
  // ErrorCode::cancelled.
  base::Result<WatchState> evaluate(std::string_view sid, const states::WatchRequest& request,
                                    base::Tree& tree, base::Interrupt& interrupt);

  // Before the state reacts: whoever has to is pending until he has done so, also if we are killed now and
  // the files are put back before the next round.
  base::Result<void> begin(std::string_view sid, WatchState& state);

  // Before something else writes these paths of the state: whatever they hold when the state is reached,
  // all of its parts have to react. Paths that have no record are new to it, and count by themselves.
  using IsWritten = std::function<bool(std::string_view path)>;
  base::Result<void> mark(std::string_view sid, const states::WatchRequest& request,
                          const IsWritten& is_written);

  // After these parts have reacted, though the state has failed: remembers what was seen before they did, and
  // notes in `state` that they are done.
  base::Result<void> store_reacted(std::string_view sid, const std::vector<std::string>& parts,
                                   WatchState& state);

  // After the state has succeeded: remembers what was seen before it ran, so that a change made meanwhile is
  // found by the next round. On disk when this returns. Writes nothing when the records say so already.
  base::Result<void> store(std::string_view sid, const WatchState& state);

  // Removes records that no run has used for kUnusedFor. Call it when all states of a recipe were stored.
  void remove_unused();

  static constexpr std::chrono::seconds kUnusedFor = std::chrono::hours(24 * 90);

 private:
  // What must be equal for a file to be taken for unchanged.
  struct Fingerprint {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Fingerprint&) const = default;
  };
  struct Known {
    Fingerprint fingerprint;
    std::string digest;
  };
  static constexpr std::size_t kMostKnown = 10'000;
  static constexpr std::chrono::hours kMarkedEvery{24};

  static Fingerprint fingerprint_of(const struct stat& st);
  // "" when it is not for us to read. `key`: of known_.
  base::Result<std::string> digest_of(const WatchedPath& found, const std::string& key,
                                      base::Interrupt& interrupt);
  base::Result<std::string> digest_at(std::string_view path, const std::optional<WatchedPath>& found,
                                      base::Tree& tree, base::Interrupt& interrupt, WatchState& state);
  static void sum_up(WatchState& state);
  void mark_used(const std::string& record);
  base::Result<void> write(base::UniqueFd& folder, const std::string& name, const WatchRecord& record,
                           bool synced);
  base::Result<base::UniqueFd> open_folder();

  const std::string folder_;
  const FolderLimits limits_;
  std::map<std::string, Known> known_;                                                     // by root and path
  std::map<std::string, std::chrono::steady_clock::time_point, std::less<>> marked_used_;  // by record
};

}  // namespace agent::engine
