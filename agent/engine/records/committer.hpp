// Committer: between the worker and whoever reads its events.
//
// A result that says "changed" must not be told before the change is on disk, and a sync per change would
// cost more than all the rest. So results are gathered here, one sync serves all that has accumulated, and
// then they leave, in order: first to where reports are kept (ReportSink), if there is such a place, then to
// the reader. It has a thread of its own: the worker goes on with the next state while the disk is busy.
//
// The journal lets go of a change when its report is safe: in the spool, or, without one, with the reader.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/engine/messages.hpp"
#include "agent/engine/records/journal.hpp"
#include "agent/engine/report_sink.hpp"
#include "base/channel.hpp"
#include "base/tree/sync_group.hpp"

namespace agent::engine {

class Committer {
 public:
  // `journal` may be null (there is none before the state folder could be opened). `reports` null: nobody
  // keeps reports; who reads the events is told, and that is all.
  Committer(base::Channel<Event>& out, base::SyncGroup& sync, Journal* journal,
            ReportSink* reports = nullptr);
  ~Committer();  // after everything has left; what the spool does not take stays in the journal

  // Called by the worker. Waits when far too much has piled up; while the spool takes nothing, results of
  // states that were kept go first.
  void submit(Event event);
  // For the result of a state. `failed_syncs`: how many there were when the state began. A sync that fails
  // speaks for all that was written before it, and only once: the next one succeeds and has written nothing.
  void submit(StateResult result, std::uint64_t failed_syncs);
  std::uint64_t failed_syncs() const;
  // Live output, in pieces of up to 64 KiB: dropped when the reader is slow.
  void submit_output(StateOutput output);
  // A record was written to the journal: it will be on disk in kLongestDelay.
  void journal_written();
  // Returns when all that was submitted has left. False: not all of it is safe. The reader is gone, or the
  // spool takes nothing at the moment; in that case it does not wait.
  bool flush();
  // Returns when what earlier results have written is on disk and no longer held open for that: from then on
  // its file system can be unmounted. As flush(), it does not wait for a spool that takes nothing.
  void let_go();

  // Whether results have left as failed that were submitted as changed, because they could not be synced.
  bool has_unsynced() const { return has_unsynced_.load(std::memory_order_relaxed); }
  // Those results.
  std::vector<StateResult> take_unsynced();
  // Hands over the files that any result was to write and of which no sync has said that they are on disk:
  // `note` puts one on record. Until it has, and the results above were taken, the journal lets go of
  // nothing.
  void take_doubtful_files(const std::function<bool(const std::string& path)>& note);

 private:
  using Clock = std::chrono::steady_clock;
  // How long a result, or a journal record, may wait for company.
  static constexpr std::chrono::milliseconds kLongestDelay{50};
  // Between attempts to write to a spool whose disk is full.
  static constexpr std::chrono::milliseconds kSpoolRetry{500};
  static constexpr std::size_t kLargestBatch = 1024;
  static constexpr std::size_t kLargestBatchBytes = 4 * 1024 * 1024;
  static constexpr std::size_t kMostOutputs = 128;  // on their way; 8 MiB
  static constexpr std::size_t kMostWaiting = 16 * kLargestBatch;
  static constexpr std::size_t kMostWaitingBytes = 32 * 1024 * 1024;

  struct Reported {  // up to which index, of what was begun there
    RunRound begun_in;
    std::size_t index = 0;
  };

  void run();
  void submit(Event event, std::optional<std::uint64_t> failed_syncs);
  bool has_room() const;
  void drop_kept();
  void doubt(StateResult& result);
  std::vector<Event> take_batch();
  bool commit(std::vector<Event> batch);
  void sync(std::vector<Event>& batch);
  bool store(const std::vector<Event>& batch);
  void confirm(const std::vector<Reported>& reported);

  base::Channel<Event>& out_;
  base::SyncGroup& sync_;
  Journal* const journal_;
  ReportSink* const reports_;
  bool retry_sync_ = false;  // of the committer's thread
  std::atomic<bool> has_unsynced_ = false;
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable left_;
  std::vector<Event> waiting_;  // guarded by mutex_, as all below
  std::size_t waiting_bytes_ = 0;
  std::optional<Clock::time_point> due_;  // when the batch must leave
  bool busy_ = false;
  bool is_held_up_ = false;  // the spool takes nothing
  bool all_heard_ = true;
  bool closing_ = false;
  std::uint64_t failed_syncs_ = 0;
  std::string why_unsynced_;  // of the last of them
  std::size_t dropped_ = 0;   // results of kept states, and not told yet
  std::vector<StateResult> unsynced_;
  std::vector<std::string> doubtful_files_;
  std::thread thread_;
};

}  // namespace agent::engine
