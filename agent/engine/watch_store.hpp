// WatchStore: which watched files have changed since their state last succeeded.
//
// One record per state and path: a file <folder>/<sid>-<path>.cksum, every "/" of its name replaced by "-",
// which holds the SHA-256 of the watched file in 64 hexadecimal digits and no newline; empty when the file
// was absent. A record of the original agent (32 digits, MD5) is understood, and replaced at the next
// success. A name that would be longer than a file name may be keeps its first bytes and ends in "-<SHA-256
// of the whole name>.cksum"; of paths of one state that come to the same name, all but the first get theirs
// the same way.
//
// Only regular files count, symlinks followed as far as the agent follows any (base/tree.hpp). What is
// missing, unreadable or of another kind is "absent", which equals an empty or missing record. Of a file that
// is larger than 1 GiB the record holds the SHA-256 of its inode, size and time of change.
//
// A file that has not changed is not read again in later rounds: its digest is remembered with the size,
// times and inode that it had. One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "base/tree.hpp"
#include "base/unique_fd.hpp"
#include "states/state.hpp"

namespace agent::engine {

// What was seen of one watched file.
struct Seen {
  std::string record;        // name of its record
  std::string digest;        // empty: absent
  bool is_recorded = false;  // the record says so already
};

struct WatchState {
  bool triggered = false;
  std::vector<std::string> changed;  // the paths that are the reason
  std::vector<Seen> seen;
};

class WatchStore {
 public:
  // The folder is made (0700) when something is stored first.
  explicit WatchStore(std::string folder) : folder_(std::move(folder)) {}

  // Looks at the watched files, before their state runs. An Error: a record is there but cannot be read, a
  // link on the way to a file is not to be followed, or ErrorCode::cancelled.
  base::Result<WatchState> evaluate(std::string_view sid, const states::WatchRequest& request,
                                    base::Tree& tree, base::Interrupt& interrupt);

  // After the state has succeeded: remembers what was seen before it ran, so that a change made meanwhile is
  // found by the next round. On disk when this returns. Writes nothing when the records say so already.
  base::Result<void> store(std::string_view sid, const WatchState& state);

  struct Found;

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

  static Fingerprint fingerprint_of(const struct stat& st);
  // "" when it cannot be read. `key`: of known_.
  base::Result<std::string> digest_of(const Found& found, const std::string& key, base::Interrupt& interrupt);
  base::Result<base::UniqueFd> open_folder();

  const std::string folder_;
  std::map<std::string, Known> known_;  // by root and path
};

}  // namespace agent::engine
