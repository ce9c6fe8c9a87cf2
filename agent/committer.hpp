// Committer: between the worker and whoever reads its events.
//
// A result that says "changed" must not be told before the change is on disk, and a sync per change would
// cost more than all the rest. So results are gathered here, one sync serves all that has accumulated, and
// then they leave, in order. It has a thread of its own: the worker goes on with the next state while the
// disk is busy.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "agent/journal.hpp"
#include "agent/messages.hpp"
#include "base/channel.hpp"
#include "base/sync_group.hpp"

namespace agent {

class Committer {
 public:
  // `journal` may be null (there is none before the state folder could be opened).
  Committer(base::Channel<Event>& out, base::SyncGroup& sync, Journal* journal);
  ~Committer();  // after everything has left

  // Called by the worker. Waits when far too much has piled up.
  void submit(Event event);
  // Live output, in pieces of up to 64 KiB: dropped when the reader is slow.
  void submit_output(StateOutput output);
  // A record was written to the journal: it will be on disk in kLongestDelay.
  void journal_written();
  // Returns when all that was submitted has left. False: the reader is gone, and not all of it was heard.
  bool flush();

 private:
  using Clock = std::chrono::steady_clock;
  // How long a result, or a journal record, may wait for company.
  static constexpr std::chrono::milliseconds kLongestDelay{50};
  static constexpr std::size_t kLargestBatch = 1024;
  static constexpr std::size_t kMostOutputs = 128;  // on their way; 8 MiB
  static constexpr std::size_t kMostWaiting = 16 * kLargestBatch;

  void run();
  bool commit(std::vector<Event> batch);

  base::Channel<Event>& out_;
  base::SyncGroup& sync_;
  Journal* const journal_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable left_;
  std::vector<Event> waiting_;            // guarded by mutex_, as all below
  std::optional<Clock::time_point> due_;  // when the batch must leave
  bool busy_ = false;
  bool all_heard_ = true;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace agent
