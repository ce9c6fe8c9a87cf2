// Journal: what was about to be changed, written before it is changed.
//
// One line per change, appended; a record survives kill -9 of this process as soon as begin() returns, and a
// power cut from the next sync() on. After a restart unfinished() tells which changes were begun and never
// confirmed. Format: see docs/formats.md.
//
// load(), begin() and clear() belong to the worker, done() to the committer, sync() to both.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "states/plan.hpp"

namespace agent {

class Journal {
 public:
  struct Entry {
    std::string digest;  // of the recipe
    std::string root;    // that the state worked below
    std::uint64_t round = 0;
    std::size_t index = 0;
    std::string id;
    std::string plan;                     // fingerprint
    std::vector<states::Change> changes;  // redacted, without diffs
    std::vector<std::string> scratch;     // temporaries to remove if we are killed
  };

  // Opens the file, made 0600 when missing.
  static base::Result<std::unique_ptr<Journal>> open(const std::string& path);

  // Reads what an earlier run left. Only while the RunLock is held: until then another run may be writing, and
  // what it has begun is not ours to finish. A torn last line, as a power cut leaves it, is dropped.
  base::Result<void> load();
  // Begun by an earlier run and not confirmed, in order; as of the last load().
  const std::vector<Entry>& unfinished() const { return unfinished_; }

  base::Result<void> begin(const Entry& entry);
  // The results of all states up to this index are safe.
  base::Result<void> done(std::size_t index);
  // A no-op when nothing was written since the last one.
  base::Result<void> sync();
  // The round is over, or its leftovers have been dealt with: nothing is unfinished.
  base::Result<void> clear();

 private:
  Journal(std::string path, base::UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  base::Result<void> append(const std::string& json);
  void replay(const std::string& text);

  const std::string path_;
  const base::UniqueFd fd_;
  std::vector<Entry> unfinished_;
  std::mutex mutex_;
  bool dirty_ = false;    // guarded by mutex_: written since the last sync
  bool is_empty_ = true;  // guarded by mutex_
};

}  // namespace agent
