// WorkerLoop: what the worker's thread does from its start to its end. See worker.hpp for how others talk to
// it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/engine/control/round_control.hpp"
#include "agent/engine/execution/executor.hpp"
#include "agent/engine/managed_host.hpp"
#include "agent/engine/records/committer.hpp"
#include "agent/engine/records/cursor.hpp"
#include "agent/engine/records/journal.hpp"
#include "agent/engine/records/right_states.hpp"
#include "agent/engine/records/run_lock.hpp"
#include "agent/engine/satisfied_waits.hpp"
#include "agent/engine/watches/watch_store.hpp"
#include "agent/engine/worker/inbox.hpp"
#include "agent/engine/worker/worker.hpp"

namespace agent::engine {

class WorkerLoop final : private states::Waits {
 public:
  WorkerLoop(const WorkerSettings& settings, base::Redactor& redactor, base::Channel<Command>& commands,
             base::Channel<Event>& events, std::atomic<bool>& must_finish);

  // Returns when it was told to stop; all events but `Stopped` have left then.
  void run();

 private:
  // held: it was left in the middle, or could not begin, because of a hold.
  enum class RoundExit { converged, failed, replaced, held, stopped };

  void adopt(RunRecipe next);
  void forget_other_modules(const recipe::Recipe& before);
  void follow_version();
  base::Result<void> take_lock();
  // ad_hoc_requests.cpp: what is asked for besides the recipe, served wherever no state runs.
  void serve_ad_hoc_requests();
  void serve(const PlanRecipe& request);
  void serve(const RunState& request);
  StateResult run_ad_hoc(const RunState& request);
  base::Result<void> take_over();
  void sweep(const Journal::Entry& leftover);
  void tidy_state_folder();
  // doubtful_files.cpp: what a failed sync, or a kill, has left of which nobody knows whether it is on disk.
  base::Result<void> write_again();
  bool note_doubtful(const std::string& root, const std::string& path);
  void settle_written(const StateResult& result);
  std::string doubt_about(const recipe::State& state, const Journal::Entry* begun) const;
  bool is_answered(const Journal::Entry& entry) const;
  void report_leftover(StateResult leftover);
  RoundExit run_round();
  RoundExit run_states(RoundEnd& end);
  void follow(StateResult& result);
  bool goes_on_after(const StateResult& result);
  void note_failure(const StateResult& result);
  void save_cursor(RoundExit exit);
  void move_place(std::size_t next);
  void count(StateResult& result, RoundEnd& end);
  bool take_back_unsynced(RoundEnd& end);
  std::chrono::milliseconds back_off(const StateResult& failed);
  std::string rest_between_attempts();
  void notice(Notice::Level level, const std::string& text);
  RoundExit cannot_begin(const base::Error& why);
  // Whether all results of the round are where they cannot be lost.
  bool let_go_of_journal();

  // Waits, for meta.wait.
  bool is_done(std::string_view state_id) override;
  base::Result<void> wait(std::string_view state_id, Deadline deadline) override;
  std::string id_of(std::string_view key) const;

  // Constant after construction.
  const WorkerSettings& settings_;
  base::Redactor& redactor_;

  base::SyncGroup sync_;
  std::unique_ptr<Journal> journal_;
  SatisfiedWaits waits_;
  Inbox inbox_;
  ManagedHost machine_;
  WatchStore watches_;
  DueReactions due_;
  OnceStore once_;
  RunLock lock_;
  const Cursor cursor_;
  Committer committer_;
  Executor executor_;
  RoundControl control_;

  // The recipe that is running.
  std::shared_ptr<const recipe::Recipe> recipe_;
  std::int64_t version_ = 0;
  bool resume_ = true;
  RunRound place_;
  std::size_t first_ = 0;       // where the round starts
  bool has_cursor_ = false;     // a place in this recipe is on disk
  std::size_t stopped_at_ = 0;  // the state that a stopped round did not get to, or not through
  struct Doubt {
    bool is_noted = false;  // in the journal, by a record of its own
    std::string why{};      // it could not be written again
  };
  std::map<std::pair<std::string, std::string>, Doubt> doubtful_files_;  // by root and path
  Inbox::Clock::time_point next_cleaning_{};                             // of watch records
  std::vector<Journal::Entry> begun_;  // of this recipe, by a run that was killed, and not reached since
  bool in_round_ = false;              // the lock is ours
  bool has_left_wait_ = false;         // so that the same recipe begins anew, with other modules
  // Keys of reports that are on their way to the spool, while the journal has them too.
  std::set<std::string> answered_;
  RightStates right_;  // those that some round, or an agent before this one, had right
  StateResult last_failure_;
  bool has_failed_ = false;  // some state in this round
  std::vector<bool> told_;   // by state: that it is right was told since the recipe was taken up
  std::chrono::milliseconds default_delay_;  // between rounds, unless the recipe says its own
  std::optional<std::chrono::milliseconds> recipe_delay_;
  std::chrono::milliseconds back_off_{};  // 0: the last round did not fail
  std::chrono::milliseconds next_round_in_{};
  Inbox::Clock::time_point next_round_{};
};

}  // namespace agent::engine
