// Spool: the reports that the backend has not acknowledged yet, on disk, in order, numbered.
//
// Thread-safe. The worker's committer appends results; the loop's thread (connection, daemon, updater)
// appends what it has to say, reads and acknowledges. Appends wait for each other: each takes the next
// numbers, and is on disk before the next begins. Reading does not wait for a disk that is busy with an
// append. One process at a time has a folder open.
//
// Numbers (`seq`) grow by one per report and never go back, whatever is killed whenever; a report that was
// dropped, or torn by a power cut, leaves a gap. They belong to uid(), which is kept in the same folder: who
// loses the one has lost the other. Format: see docs/formats.md.
//
// Bounded: when it is full, the oldest records of Importance::kept go first, and only when none of them is
// left, the oldest of the others. In memory there is an index and the keys, no payload.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "agent/reports/spool_marks.hpp"
#include "agent/reports/spool_segment.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace agent::reports {

struct SpoolLimits {
  std::uint64_t most_bytes = 64 * 1024 * 1024;
  std::uint64_t segment_bytes = 1024 * 1024;  // a file that has reached this size is followed by another
};

class Spool {
 public:
  struct Entry {
    Importance importance = Importance::normal;
    std::string key;  // see knows(); empty: every such report is another one
    std::string payload;
  };

  // Opens the spool in this folder, or makes one, 0700. Waits a moment for another process to let go of it.
  static base::Result<std::unique_ptr<Spool>> open(const std::string& folder, SpoolLimits limits = {});
  ~Spool();  // remembers what was acknowledged

  // On return all of them are on disk, or, on an Error, none is added. Those whose key is known already are
  // left out: they were reported before.
  base::Result<void> append(std::span<const Entry> entries);
  // Whether a report with this key is held, or was acknowledged so recently that its file is still there. The
  // newest two files always are: so what was appended last is known however quickly it was acknowledged.
  bool knows(const std::string& key) const;

  // The records after this one, in order: at least one if there is any, no more than so many and so large.
  // One that cannot be read any more is left out, counted and a problem.
  std::vector<SpoolRecord> read_after(std::uint64_t seq, std::size_t most_records, std::size_t most_bytes);
  // All up to this one are safe with the backend and are removed. Survives a restart sooner or later: who is
  // killed before may send some again.
  void acknowledge(std::uint64_t seq);

  std::uint64_t last_seq() const;  // of the newest report; 0: there never was one
  // The newest that a backend can have of us: those that were there when the spool was opened, and those that
  // were read since. A backend that has more has heard of a later life of this folder, which is an old copy.
  std::uint64_t offered_seq() const;
  std::uint64_t acknowledged() const;  // 0: none
  std::uint64_t bytes() const;         // on disk
  SpoolDropped dropped() const;
  // Readable when something was appended since the last read_after().
  int appended_fd() const { return appended_.get(); }

  // 32 hexadecimal digits: whose numbers these are.
  std::string uid() const;
  // For when the backend has acknowledged more than was ever offered: this folder is an old copy, and its
  // numbers have been used. They get a new owner.
  base::Result<void> renew_uid();

  // What was found damaged since this was asked last, for the log. The rest is used.
  std::vector<std::string> take_problems();

 private:
  struct Place {
    SpoolSegment::File file;
    SpoolSegment::Item item;
    std::uint64_t segment = 0;  // its first number
  };

  Spool(std::string folder, SpoolLimits limits, base::UniqueFd folder_fd);
  base::Result<void> load();
  base::Result<void> load_marks();
  base::Result<void> load_uid();
  void mend(std::size_t number);
  void note_lost(const std::string& what, std::uint64_t from_seq, std::uint64_t before_seq,
                 std::uint64_t bytes);
  void note_unreadable(const Place& place);
  base::Result<void> store(const char* name, std::string_view text) const;
  base::Result<void> store_marks();
  std::vector<Place> places_after(std::uint64_t seq, std::size_t most_records, std::size_t most_bytes) const;
  // All of these: called with append_mutex_ held and without mutex_.
  base::Result<void> start_segment(std::uint64_t first_seq);
  base::Result<void> make_room(std::uint64_t bytes);
  base::Result<bool> drop_oldest_kept();
  base::Result<bool> drop_oldest_segment();
  void remove_acknowledged();

  // Constant after open().
  const std::string folder_;
  const SpoolLimits limits_;
  const base::UniqueFd folder_fd_;
  const base::UniqueFd appended_;

  std::mutex append_mutex_;             // held while files are written or removed; taken before mutex_
  mutable std::mutex mutex_;            // held for moments
  std::deque<SpoolSegment> segments_;   // changed with both held, so read with either; oldest first
  std::uint64_t last_seq_ = 0;          // as segments_
  std::uint64_t offered_seq_ = 0;       // guarded by mutex_
  SpoolMarks marks_;                    // guarded by mutex_
  std::string uid_;                     // guarded by mutex_
  std::vector<std::string> problems_;   // guarded by mutex_; not yet asked for
  std::set<std::uint64_t> unreadable_;  // guarded by mutex_: records that were whole when they were loaded
};

}  // namespace agent::reports
