#include "agent/engine/worker/worker_loop.hpp"

#include <algorithm>

#include "agent/engine/records/recovery.hpp"
#include "agent/engine/secrets.hpp"

namespace agent::engine {

namespace {

using Clock = Inbox::Clock;

constexpr std::chrono::hours kCleaningEvery{24};

bool is_rereadable(const recipe::State& state) {
  return state.type->rereadable_with(*state.params);
}

std::chrono::microseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
}

// What a program says may name the time or a process, and so differ each time; how it ended tells more.
bool fails_the_same_way(const StateResult& one, const StateResult& other) {
  if (one.id != other.id || one.outcome != other.outcome) return false;
  return one.exit_code || other.exit_code ? one.exit_code == other.exit_code : one.comment == other.comment;
}

// While no state runs there is nothing to let finish: every stop but `end`, and every new recipe, counts at
// once.
class BetweenStates final : public base::Interrupt {
 public:
  explicit BetweenStates(Inbox& inbox) : inbox_(inbox) {}
  bool requested() override {
    inbox_.drain();
    return inbox_.stops_before_next_state() || inbox_.has_next();
  }
  int wait_fd() const override { return inbox_.wait_fd(); }

 private:
  Inbox& inbox_;
};

}  // namespace

WorkerLoop::WorkerLoop(const WorkerSettings& settings, base::Redactor& redactor,
                       base::Channel<Command>& commands, base::Channel<Event>& events,
                       std::atomic<bool>& must_finish, std::unique_ptr<Journal> journal)
    : settings_(settings),
      redactor_(redactor),
      journal_(std::move(journal)),
      inbox_(commands, waits_, must_finish),
      machine_(settings.host, sync_),
      watches_(settings.state_dir + "/watch"),
      lock_(settings.state_dir + "/lock"),
      cursor_(settings.state_dir + "/" + settings.journal_name + ".cursor"),
      committer_(events, sync_, journal_.get(), settings.reports.get()),
      executor_({.machine = machine_,
                 .journal = *journal_,
                 .committer = committer_,
                 .watches = watches_,
                 .redactor = redactor_,
                 .interrupt = inbox_,
                 .waits = *this,
                 .rest_between_attempts = [this] { return rest_between_attempts(); },
                 .wants_diffs = settings.wants_diffs}),
      right_(settings.state_dir + "/" + settings.journal_name + ".right"),
      default_delay_(settings.round_delay) {}

void WorkerLoop::notice(Notice::Level level, const std::string& text) {
  committer_.submit(Notice{level, redactor_.redact(text)});
}

void WorkerLoop::run() {
  while (true) {
    inbox_.drain();
    if (inbox_.stops_before_next_state()) break;
    serve_ad_hoc_requests();
    if (auto next = inbox_.take_next()) adopt(std::move(*next));
    const bool at_rest = !recipe_ || Clock::now() < next_round_;
    if (at_rest && inbox_.stop()) break;
    if (!recipe_) {
      inbox_.wait();
    } else if (at_rest) {
      inbox_.wait_until(next_round_);
    } else {
      const RoundExit exit = run_round();
      if (exit == RoundExit::stopped) break;
      if (exit != RoundExit::replaced && inbox_.stop()) break;
      next_round_ = Clock::now() + next_round_in_;
    }
  }
  committer_.flush();
}

void WorkerLoop::adopt(RunRecipe next) {
  for (std::string& warning : follow_secrets(recipe_.get(), *next.recipe, redactor_))
    notice(Notice::Level::warning, std::move(warning));
  const std::shared_ptr<const recipe::Recipe> before = std::exchange(recipe_, std::move(next.recipe));
  version_ = next.version;
  resume_ = next.resume;
  recipe_delay_ = next.round_delay;
  place_ = {.run_id = next.run_id.empty() ? new_run_id() : std::move(next.run_id)};
  next_round_ = {};
  back_off_ = {};
  inbox_.set_current(version_);
  waits_.forget_all_but(version_);
  right_.adopt(*recipe_);
  if (before) forget_other_modules(*before);
}

// What another version of a module finds wrong has not drifted.
void WorkerLoop::forget_other_modules(const recipe::Recipe& before) {
  const auto& states = recipe_->states();
  for (std::size_t i = 0; i < std::min(states.size(), before.states().size()); ++i)
    if (states[i].id == before.states()[i].id && states[i].type != before.states()[i].type)
      right_.set(i, false);
}

// The same states, under another version from now on.
void WorkerLoop::follow_version() {
  if (auto moved = inbox_.take_version()) version_ = *moved;
}

// What a run that was killed has left: its temporaries go, what it had begun in this recipe is looked at
// again, and what it had begun in another is reported. Only under the lock: before, the journal may be that
// of a run which is alive.
base::Result<void> WorkerLoop::take_over() {
  first_ = 0;
  begun_.clear();
  auto unfinished = journal_->unfinished();
  if (!unfinished) return std::move(unfinished).error();
  for (const Journal::Entry& entry : *unfinished) {
    sweep(entry);
    // Nobody knows whether what a killed run had written is on disk; what a sync had refused is not.
    for (const std::string& path : entry.written)
      doubtful_files_.emplace(entry.root, path);
  }
  write_again();
  std::erase_if(*unfinished,
                [&](const Journal::Entry& entry) { return entry.id.empty() || is_answered(entry); });
  Recovery recovery = recover(std::move(*unfinished), *recipe_, settings_.host.root);
  for (StateResult& leftover : recovery.others)
    report_leftover(std::move(leftover));
  begun_ = std::move(recovery.begun);
  const auto kept = cursor_.find(recipe_->digest());
  has_cursor_ = kept.has_value();
  if (resume_ && place_.round == 0 && !begun_.empty())
    first_ = std::ranges::min(begun_, {}, &Journal::Entry::index).index;
  else if (resume_ && place_.round == 0)
    first_ = std::min(kept.value_or(0), recipe_->states().size());
  return {};
}

void WorkerLoop::sweep(const Journal::Entry& leftover) {
  if (leftover.scratch.empty()) return;
  base::Tree tree(leftover.root);
  base::TreeWriter writer(tree, sync_);
  for (const std::string& path : leftover.scratch) {
    if (auto removed = writer.remove_scratch(path); !removed)
      notice(Notice::Level::warning, removed.error().message());
    // Folders and links that it has made there are synced before they are reported.
    if (const auto folder = tree.folder(base::split_path(path).folder)) (void)sync_.note(*folder);
  }
}

// What cannot be written stays in doubt, and in the journal, and is tried again in the next round.
void WorkerLoop::write_again() {
  for (auto file = doubtful_files_.begin(); file != doubtful_files_.end();) {
    base::Tree tree(file->first);
    base::TreeWriter writer(tree, sync_);
    // Of no state: only so that the temporary goes if we are killed now.
    const Journal::Entry rewriting{.root = file->first, .scratch = {writer.scratch_path(file->second)}};
    auto written = journal_->begin(rewriting);
    if (written) written = writer.write_again(file->second);
    if (written) written = journal_->done(rewriting.begun_in, rewriting.index);
    if (!written) notice(Notice::Level::warning, written.error().message());
    file = written ? doubtful_files_.erase(file) : std::next(file);
  }
}

bool WorkerLoop::is_in_doubt(const Journal::Entry& entry) const {
  return std::ranges::any_of(entry.written, [&](const std::string& path) {
    return doubtful_files_.contains({entry.root, path});
  });
}

// Reported, or about to be, though the journal does not say so: we were killed before it could, or the spool
// takes nothing at the moment.
bool WorkerLoop::is_answered(const Journal::Entry& entry) const {
  if (!settings_.reports) return false;
  const std::string key = report_key(entry.begun_in, entry.index);
  return answered_.contains(key) || settings_.reports->knows(key);
}

void WorkerLoop::report_leftover(StateResult leftover) {
  if (settings_.reports) {
    answered_.insert(report_key(journalled_in(leftover), leftover.index));
    committer_.submit(std::move(leftover));
    return;
  }
  // Whoever applies a recipe by hand counts the results of that recipe.
  std::string text = "a run was killed when it had begun to change its state " + leftover.id;
  for (const states::Change& change : leftover.changes)
    text += (&change == &leftover.changes.front() ? ": " : ", ") + change.what;
  notice(Notice::Level::warning, std::move(text));
}

base::Result<void> WorkerLoop::take_lock() {
  BetweenStates between(inbox_);
  return lock_.acquire(between, [&](const std::string& pid) {
    notice(Notice::Level::info, "waiting for another run to end (process " + pid + ")");
  });
}

WorkerLoop::RoundExit WorkerLoop::run_round() {
  auto ready = take_lock();
  if (ready) ready = take_over();
  if (!ready) {
    lock_.release();
    if (inbox_.stops_before_next_state()) return RoundExit::stopped;
    if (inbox_.has_next()) return RoundExit::replaced;
    notice(Notice::Level::warning, ready.error().message());
    next_round_in_ = settings_.longest_back_off;
    return RoundExit::failed;
  }

  in_round_ = true;
  machine_.new_round();
  follow_version();
  RoundEnd end{.run_id = place_.run_id, .round = ++place_.round};
  const Clock::time_point started = Clock::now();
  committer_.submit(RoundStarted{.run_id = place_.run_id,
                                 .version = version_,
                                 .round = place_.round,
                                 .first = first_,
                                 .states = recipe_->states().size()});
  RoundExit exit = run_states(end);
  // What the round's end counts as changed must be on disk.
  if (end.counts[static_cast<std::size_t>(Outcome::changed)] > 0) committer_.flush();
  if (take_back_unsynced(end) && exit == RoundExit::converged) exit = RoundExit::failed;
  if (exit == RoundExit::converged) {
    back_off_ = {};
    next_round_in_ = recipe_delay_.value_or(default_delay_);
  }
  end.version = version_;
  end.duration = since(started);
  if (exit != RoundExit::stopped && exit != RoundExit::replaced && !inbox_.stop()) end.next = next_round_in_;
  committer_.submit(std::move(end));
  // What nobody has heard, and what a killed run had begun and this round did not reach, stays in the
  // journal. Without the lock (stopped before a wait got it back) it may be another's.
  const bool is_all_safe = committer_.flush();
  for (std::string& path : committer_.take_doubtful_files())
    doubtful_files_.emplace(settings_.host.root, std::move(path));
  if (is_all_safe && begun_.empty() && doubtful_files_.empty() && lock_.is_held()) {
    answered_.clear();
    if (auto cleared = journal_->clear(); !cleared) notice(Notice::Level::warning, cleared.error().message());
  }
  if (exit == RoundExit::converged && Clock::now() >= next_cleaning_) {
    watches_.remove_unused();
    next_cleaning_ = Clock::now() + kCleaningEvery;
  }
  save_cursor(exit);
  if (auto saved = right_.save(*recipe_); !saved) notice(Notice::Level::warning, saved.error().message());
  lock_.release();
  in_round_ = false;
  return exit;
}

// For a worker that is stopped to go on in another process. A round that was not stopped needs no cursor; one
// that was stopped otherwise leaves it where it is.
void WorkerLoop::save_cursor(RoundExit exit) {
  base::Result<void> kept;
  if (exit != RoundExit::stopped)
    kept = cursor_.drop();
  else if (inbox_.keeps_place())
    kept = cursor_.keep(recipe_->digest(), stopped_at_);
  if (!kept) notice(Notice::Level::warning, kept.error().message());
}

// A place that was kept moves with the round that continues there: a version on trial that is ended in the
// middle must not leave behind where it began. What was done before is reported first.
void WorkerLoop::move_place(std::size_t next) {
  if (!has_cursor_ || !committer_.flush()) return;
  if (auto kept = cursor_.keep(recipe_->digest(), next); !kept)
    notice(Notice::Level::warning, kept.error().message());
}

WorkerLoop::RoundExit WorkerLoop::run_states(RoundEnd& end) {
  const std::vector<recipe::State>& states = recipe_->states();
  for (std::size_t index = first_; index < states.size(); ++index) {
    end.not_reached = states.size() - index;
    stopped_at_ = index;
    inbox_.drain();
    serve_ad_hoc_requests();
    if (inbox_.stops_before_next_state()) return RoundExit::stopped;
    if (inbox_.has_next()) return RoundExit::replaced;
    if (committer_.has_unsynced()) return RoundExit::failed;
    follow_version();
    const auto begun = std::ranges::find(begun_, index, &Journal::Entry::index);
    StateResult result = executor_.execute({.recipe = *recipe_,
                                            .state = states[index],
                                            .index = index,
                                            .place = place_,
                                            .version = version_,
                                            .begun = begun == begun_.end() ? nullptr : &*begun,
                                            .expected_plan = index < settings_.expected_plans.size()
                                                                 ? settings_.expected_plans[index]
                                                                 : std::string_view(),
                                            .plan_salt = settings_.plan_salt});
    result.version = version_;  // a wait may have seen it move
    if (begun != begun_.end() && is_success(result.outcome) && is_in_doubt(*begun)) {
      result.outcome = Outcome::failed;
      result.comment += "\nWhat an earlier run has written is still not on disk";
    }
    if (begun != begun_.end() && !result.begun_in)
      report_leftover(as_uncertain(*begun, "what it was for does not hold any more"));
    std::erase_if(begun_, [&](const Journal::Entry& entry) { return entry.index == index; });
    count(result, end);
    if (settings_.reports && (result.outcome != Outcome::kept || result.is_journalled))
      answered_.insert(report_key(journalled_in(result), index));
    const bool success = is_success(result.outcome);
    if (!success) {
      next_round_in_ = back_off(result);
      last_failure_ = result;
    }
    committer_.submit(std::move(result));
    if (success) move_place(index + 1);
    if (!success) {
      --end.not_reached;
      inbox_.drain();
      if (inbox_.stops_before_next_state()) return RoundExit::stopped;
      return inbox_.has_next() ? RoundExit::replaced : RoundExit::failed;
    }
  }
  end.not_reached = 0;
  return RoundExit::converged;
}

void WorkerLoop::count(StateResult& result, RoundEnd& end) {
  ++end.counts[static_cast<std::size_t>(result.outcome)];
  const bool was_right = right_.contains(result.index);
  const bool is_calm = result.outcome == Outcome::kept || result.outcome == Outcome::skipped;
  // What cannot be read again is done in every round: that is no drift.
  if (!is_calm && result.cause == Cause::none)
    result.cause = !was_right                                       ? Cause::new_recipe
                   : is_rereadable(recipe_->states()[result.index]) ? Cause::drift
                                                                    : Cause::refresh;
  if (result.outcome == Outcome::changed && result.cause == Cause::drift) end.drift.push_back(result.id);
  if (result.outcome == Outcome::changed || result.outcome == Outcome::kept) right_.set(result.index, true);
}

// Changes that could not be synced have left as failures: so they count, and so the round ends. True: there
// were some.
bool WorkerLoop::take_back_unsynced(RoundEnd& end) {
  const std::vector<StateResult> unsynced = committer_.take_unsynced();
  for (const StateResult& result : unsynced) {
    if (result.run_id != place_.run_id || result.round != place_.round) continue;
    --end.counts[static_cast<std::size_t>(Outcome::changed)];
    ++end.counts[static_cast<std::size_t>(Outcome::failed)];
    std::erase(end.drift, result.id);
    right_.set(result.index, false);
  }
  if (unsynced.empty()) return false;
  next_round_in_ = back_off(unsynced.front());
  last_failure_ = unsynced.front();
  return true;
}

// A state that fails again and again must not hold up what waits: its attempts may go on for hours.
std::string WorkerLoop::rest_between_attempts() {
  const Clock::time_point until = Clock::now() + settings_.retry_delay;
  while (true) {
    inbox_.drain();
    if (inbox_.requested()) return "cancelled";
    if (inbox_.stops_before_next_state()) return "the agent stops";
    if (inbox_.has_next()) return "a new recipe waits";
    // In the middle of an ad-hoc request the others wait for its end, as they came after it.
    if (inbox_.has_ad_hoc() && !inbox_.is_in_run()) serve_ad_hoc_requests();
    if (Clock::now() >= until) return {};
    lock_.release();  // other runs that wait go first, too
    inbox_.wait_until(until);
    const auto locked = take_lock();
    const bool has_come = inbox_.requested() || inbox_.stops_before_next_state() || inbox_.has_next();
    if (!locked && !has_come) return locked.error().message();
  }
}

// Doubles while the same state fails in the same way.
std::chrono::milliseconds WorkerLoop::back_off(const StateResult& failed) {
  const bool same = back_off_.count() > 0 && fails_the_same_way(failed, last_failure_);
  back_off_ = same ? std::min(back_off_ * 2, settings_.longest_back_off) : settings_.first_back_off;
  return back_off_;
}

bool WorkerLoop::is_done(std::string_view state_id) {
  return waits_.is_done(version_, state_id);
}

base::Result<void> WorkerLoop::wait(std::string_view state_id, Deadline deadline) {
  bool is_announced = false;
  inbox_.drain();
  while (true) {
    follow_version();  // the backend speaks of the new one from now on
    if (is_done(state_id)) return {};
    if (inbox_.stops_before_next_state() || inbox_.has_next())
      return base::Error(base::ErrorCode::cancelled, "Stopped waiting");
    if (!settings_.has_backend)
      return base::Error(
          base::ErrorCode::unsupported,
          "Waits for states of other machines, and no backend is connected that could say when they are "
          "done. If they are, say so with --assume-done " +
              std::string(state_id));
    if (Clock::now() >= deadline)
      return base::Error(base::ErrorCode::timed_out, "Still not done when the state's time was over");
    if (!is_announced) {
      committer_.submit(StateStarted{.id = std::string(state_id), .module = "meta.wait", .message = "Waits"});
      is_announced = true;
    }
    committer_.flush();
    if (inbox_.has_ad_hoc()) {
      serve_ad_hoc_requests();  // in the course of which anything may have come
      continue;
    }
    lock_.release();  // nobody else need wait for what this machine waits for
    inbox_.wait_until(deadline);
    if (auto locked = take_lock(); !locked) return locked;
    machine_.invalidate_caches();  // somebody may have run meanwhile
  }
}

}  // namespace agent::engine
