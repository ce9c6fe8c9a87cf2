// WorkerLoop: what the worker's thread does from its start to its end. See worker.hpp for how others talk to
// it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/committer.hpp"
#include "agent/executor.hpp"
#include "agent/inbox.hpp"
#include "agent/journal.hpp"
#include "agent/machine.hpp"
#include "agent/run_lock.hpp"
#include "agent/wait_board.hpp"
#include "agent/watch_store.hpp"
#include "agent/worker.hpp"

namespace agent {

class WorkerLoop final : private states::Waits {
 public:
  WorkerLoop(const WorkerSettings& settings, base::Redactor& redactor, base::Channel<Command>& commands,
             base::Channel<Event>& events, std::unique_ptr<Journal> journal);

  // Returns when it was told to stop; all events but `Stopped` have left then.
  void run();

 private:
  enum class RoundExit { converged, failed, replaced, stopped };

  void adopt(RunRecipe next);
  void plan_only();
  RoundExit run_round();
  RoundExit run_states(RoundEnd& end);
  void count(const StateResult& result, RoundEnd& end);
  std::chrono::milliseconds back_off(const StateResult& failed);
  base::Result<void> take_over();
  void sweep_leftovers();
  void notice(Notice::Level level, std::string text);

  // Waits, for meta.wait.
  bool is_done(std::string_view state_id) override;
  base::Result<void> wait(std::string_view state_id) override;

  // Constant after construction.
  const WorkerSettings& settings_;
  base::Redactor& redactor_;

  base::SyncGroup sync_;
  std::unique_ptr<Journal> journal_;
  WaitBoard waits_;
  Inbox inbox_;
  Machine machine_;
  WatchStore watches_;
  RunLock lock_;
  Committer committer_;
  Executor executor_;

  // The recipe that is running.
  std::shared_ptr<const recipe::Recipe> recipe_;
  Mode mode_ = Mode::apply;
  std::int64_t version_ = 0;
  std::uint64_t round_ = 0;
  bool resume_ = false;                // the first round starts where a killed one was
  std::size_t first_ = 0;              // where the next round starts
  std::vector<Journal::Entry> begun_;  // by a run that was killed, of this recipe
  std::vector<bool> was_right_;        // per state: some round had it right
  StateResult last_failure_;
  std::chrono::milliseconds back_off_{};  // 0: the last round did not fail
  std::chrono::milliseconds next_round_in_{};
};

}  // namespace agent
