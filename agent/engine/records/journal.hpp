// Journal: what was about to be changed, written before it is changed.
//
// One line per change, appended; a record survives kill -9 of this process as soon as begin() returns, and a
// power cut from the next sync() on. After a restart unfinished() tells which changes were begun and never
// confirmed. Format: see docs/formats.md.
//
// Several processes may have it open; whoever holds the RunLock reads and writes it. unfinished(), begin(),
// clear() and compact() belong to the worker, done() to the committer, sync() to both.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agent/engine/messages.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace agent::engine {

class Journal {
 public:
  struct Entry {
    std::string digest;  // of the recipe
    std::string root;    // that the state worked below
    std::int64_t version = 1;
    RunRound begun_in;
    std::size_t index = 0;
    std::string id;
    std::string module;
    std::string plan;                     // hash of what was planned
    std::vector<states::Change> changes;  // redacted; their diffs are not written
    std::vector<std::string> scratch;     // temporaries to remove if we are killed
    std::vector<std::string> written;     // files whose content is not known to be on disk before `done`
  };

  // Opened by unfinished(), which may be tried again.
  explicit Journal(std::string path) : path_(std::move(path)) {}
  // Opens the file, made 0600 when missing.
  static base::Result<std::unique_ptr<Journal>> open(const std::string& path);

  // For whoever has got the lock back: opens the file if it is not open, or if another one has the name by
  // now.
  base::Result<void> reopen();
  // Begun by whoever wrote it last and not confirmed, in order. Reopens it. A torn last line, as a power cut
  // leaves it, is taken off, so call this before the first begin().
  base::Result<std::vector<Entry>> unfinished();

  base::Result<void> begin(const Entry& entry);
  // The results of all states up to this index, of those that were begun there, are safe.
  base::Result<void> done(const RunRound& begun_in, std::size_t index);
  // On return, all that was written before the call is on disk, whichever thread wrote or synced it.
  base::Result<void> sync();
  // The round is over and has been told: nothing is unfinished, not even after a power cut.
  base::Result<void> clear();
  // For a journal that cannot be cleared for long: when it has become large, another file with what is
  // unfinished takes its place.
  base::Result<void> compact();

 private:
  base::Result<void> open_file();    // with both mutexes held
  base::Result<std::string> read();  // with one of them
  base::Result<void> append(const std::string& json);
  base::Result<void> cut_to(off_t size);

  static constexpr off_t kCompactFrom = 1024 * 1024;

  const std::string path_;
  std::mutex sync_mutex_;  // held while syncing, and taken before mutex_
  bool is_lost_ = false;   // guarded by sync_mutex_: a sync has failed
  std::mutex mutex_;
  base::UniqueFd fd_;                  // read with either, changed with both held
  bool dirty_ = false;                 // guarded by mutex_: written since the last sync
  bool is_empty_ = false;              // guarded by mutex_
  off_t compact_from_ = kCompactFrom;  // guarded by mutex_: the size that is too large
};

}  // namespace agent::engine
