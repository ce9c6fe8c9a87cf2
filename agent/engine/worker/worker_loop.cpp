#include "agent/engine/worker/worker_loop.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "agent/engine/records/advice.hpp"
#include "agent/engine/records/recovery.hpp"
#include "agent/engine/secrets.hpp"
#include "base/tree/scratch_place.hpp"

namespace agent::engine {

namespace {

using Clock = Inbox::Clock;

constexpr std::chrono::hours kCleaningEvery{24};

bool is_rereadable(const recipe::State& state) {
  return !state.is_off && state.type->rereadable_with(*state.params);
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
// once; and a hold, for a round that has not begun.
class BetweenStates final : public base::Interrupt {
 public:
  BetweenStates(Inbox& inbox, bool in_round) : inbox_(inbox), in_round_(in_round) {}
  bool requested() override {
    inbox_.drain();
    return inbox_.stops_before_next_state() || inbox_.has_next() ||
           (in_round_ ? inbox_.leaves_round() : inbox_.is_held());
  }
  int wait_fd() const override { return inbox_.wait_fd(); }

 private:
  Inbox& inbox_;
  const bool in_round_;
};

}  // namespace

WorkerLoop::WorkerLoop(const WorkerSettings& settings, base::Redactor& redactor,
                       base::Channel<Command>& commands, base::Channel<Event>& events,
                       std::atomic<bool>& must_finish)
    : settings_(settings),
      redactor_(redactor),
      journal_(std::make_unique<Journal>(settings.state_dir + "/" + settings.journal_name + ".journal")),
      inbox_(commands, waits_, must_finish),
      machine_(settings.host, sync_),
      watches_(settings.state_dir + "/watch"),
      due_(settings.state_dir + "/reactions", sync_),
      once_(settings.state_dir),
      lock_(settings.state_dir + "/lock"),
      cursor_(settings.state_dir + "/" + settings.journal_name + ".cursor"),
      committer_(events, sync_, journal_.get(), settings.reports.get()),
      executor_({.machine = machine_,
                 .sync = sync_,
                 .journal = *journal_,
                 .committer = committer_,
                 .watches = watches_,
                 .due = due_,
                 .once = once_,
                 .redactor = redactor_,
                 .interrupt = inbox_,
                 .waits = *this,
                 .rest_between_attempts = [this] { return rest_between_attempts(); },
                 .wants_diffs = settings.wants_diffs}),
      control_(due_, once_, false),
      right_(settings.state_dir + "/" + settings.journal_name + ".right"),
      default_delay_(settings.round_delay) {}

void WorkerLoop::notice(Notice::Level level, const std::string& text) {
  committer_.submit(Notice{level, redactor_.redact(text)});
}

void WorkerLoop::run() {
  // Also where no round may ever begin.
  if (lock_.try_acquire()) {
    tidy_state_folder();
    lock_.release();
  }
  while (true) {
    inbox_.drain();
    if (inbox_.stops_before_next_state()) break;
    serve_ad_hoc_requests();
    if (auto next = inbox_.take_next()) adopt(std::move(*next));
    if (inbox_.take_begin_round()) next_round_ = {};
    const bool is_idle = !recipe_ || inbox_.is_held();
    const bool at_rest = is_idle || Clock::now() < next_round_;
    if (at_rest && inbox_.stop()) break;
    if (is_idle) {
      inbox_.wait();
    } else if (at_rest) {
      inbox_.wait_until(next_round_);
    } else {
      const RoundExit exit = run_round();
      if (exit == RoundExit::stopped) break;
      if (exit != RoundExit::replaced && inbox_.stop()) break;
      // A round that was left, or could not begin, is made up for as soon as the hold is over.
      next_round_ = exit == RoundExit::held ? Clock::time_point() : Clock::now() + next_round_in_;
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
  told_.assign(recipe_->states().size(), false);
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
  tidy_state_folder();
  auto unfinished = journal_->unfinished();
  if (!unfinished) return std::move(unfinished).error();
  std::set<std::string> keys;
  for (const Journal::Entry& entry : *unfinished) {
    keys.insert(report_key(entry.begun_in, entry.index));
    sweep(entry);
    // Nobody knows whether what a killed run had written is on disk; what a sync had refused is not.
    for (const std::string& path : entry.written) {
      Doubt& doubt = doubtful_files_[{entry.root, path}];
      doubt.is_noted = doubt.is_noted || entry.id.empty();
    }
  }
  std::erase_if(answered_, [&](const std::string& key) { return !keys.contains(key); });
  if (auto written = write_again(); !written) return written;
  std::erase_if(*unfinished,
                [&](const Journal::Entry& entry) { return entry.id.empty() || is_answered(entry); });
  Recovery recovery = recover(std::move(*unfinished), recipe_.get(), settings_.host.root);
  for (StateResult& leftover : recovery.others)
    report_leftover(std::move(leftover));
  begun_ = std::move(recovery.begun);
  if (!recipe_) return {};
  const auto kept = cursor_.find(recipe_->digest());
  has_cursor_ = kept.has_value();
  if (resume_ && place_.round == 0 && !begun_.empty())
    first_ = std::ranges::min(begun_, {}, &Journal::Entry::index).index;
  else if (resume_ && place_.round == 0)
    first_ = std::min(kept.value_or(0), recipe_->states().size());
  // Which of the earlier ones had failed is not known any more, and what requires them must not run.
  if (recipe_->continues_after_failures()) first_ = 0;
  return {};
}

// What a killed run has left in our own folder: content that a program was to look at before it was written,
// which may be secret, and folders of ours that were about to appear, of which no journal tells.
void WorkerLoop::tidy_state_folder() {
  base::Tree tree;
  base::TreeWriter writer(tree, sync_);
  const auto remove_copies = [&]() -> base::Result<void> {
    const auto folder = base::clean_path(settings_.host.copies_dir());
    if (!folder) return folder.error();
    const auto found = tree.look(*folder);
    if (!found) return found.error();
    if (!*found) return {};
    base::NoInterrupt never;
    return S_ISDIR((*found)->st_mode) ? writer.remove_tree(*folder, base::Seen(*found), never)
                                      : writer.remove(*folder, base::Seen(*found));
  };
  if (auto removed = remove_copies(); !removed)
    notice(Notice::Level::warning,
           removed.error().message() + ": remove it, as it may hold secrets of a run that was killed");
  const auto folder = base::clean_path(settings_.state_dir);
  if (!folder) return;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(*folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().native();
    if (!base::is_scratch_name(name)) continue;
    if (auto removed = writer.remove_scratch(*folder + "/" + name); !removed)
      notice(Notice::Level::warning, removed.error().message());
  }
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
  BetweenStates between(inbox_, in_round_);
  auto locked = lock_.acquire(between, [&](std::optional<pid_t> holder, bool is_long) {
    std::string text = "waiting for another run to end";
    if (holder) text += " (process " + std::to_string(*holder) + ")";
    if (is_long)
      text += ", for " + std::to_string(RunLock::kLong.count()) +
              " minutes and more: let it finish, or end it; it has locked " + settings_.state_dir + "/lock";
    committer_.submit(Notice{is_long ? Notice::Level::warning : Notice::Level::info, std::move(text),
                             is_long ? Notice::HoldsUp::for_long : Notice::HoldsUp::for_a_while});
  });
  if (!locked) return locked;
  // In the middle of a round the journal is open; whoever had the lock meanwhile may have made it anew.
  if (in_round_)
    if (auto opened = journal_->reopen(); !opened) return opened;
  // That run may have followed what we were to follow.
  if (auto loaded = due_.load(); !loaded) return loaded;
  if (recipe_) due_.adopt(settings_.host.root, *recipe_);
  return {};
}

// Everybody is told: the log, whoever asks for the status, the backend, and the exit status of an `apply`.
WorkerLoop::RoundExit WorkerLoop::cannot_begin(const base::Error& why) {
  next_round_in_ = settings_.longest_back_off;
  RoundEnd end{.run_id = place_.run_id, .version = version_, .not_reached = recipe_->states().size()};
  if (!inbox_.stop()) end.next = next_round_in_;
  end.problem = "no state was looked at: " + redactor_.redact(with_advice(why, settings_.state_dir));
  committer_.submit(std::move(end));
  return RoundExit::failed;
}

WorkerLoop::RoundExit WorkerLoop::run_round() {
  auto ready = take_lock();
  if (ready) ready = take_over();
  if (!ready) {
    lock_.release();
    if (inbox_.stops_before_next_state()) return RoundExit::stopped;
    if (inbox_.has_next()) return RoundExit::replaced;
    if (inbox_.is_held()) return RoundExit::held;
    return cannot_begin(ready.error());
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
  has_failed_ = false;
  control_.begin(*recipe_, settings_.host.root);
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
  const bool is_over = exit == RoundExit::converged || exit == RoundExit::failed;
  if (is_over && !inbox_.stop()) end.next = next_round_in_;
  committer_.submit(std::move(end));
  const bool is_all_safe = let_go_of_journal();
  if (lock_.is_held())
    if (auto tidied = due_.tidy(settings_.host.root, *recipe_, is_all_safe && begun_.empty()); !tidied)
      notice(Notice::Level::warning, tidied.error().message());
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

// What nobody has heard, and what a killed run had begun and this round did not reach, stays in the journal.
// Without the lock (stopped before a wait got it back) it may be another's.
bool WorkerLoop::let_go_of_journal() {
  const bool is_all_safe = committer_.flush();
  // One that cannot be put on record keeps the journal as it is, here and in the committer.
  committer_.take_doubtful_files([&](const std::string& path) {
    const bool is_noted = note_doubtful(settings_.host.root, path);
    Doubt& doubt = doubtful_files_[{settings_.host.root, path}];
    doubt.is_noted = doubt.is_noted || is_noted;
    return is_noted;
  });
  if (!lock_.is_held()) return is_all_safe;
  base::Result<void> done;
  if (is_all_safe && begun_.empty() && doubtful_files_.empty()) {
    answered_.clear();
    done = journal_->clear();
  } else {
    done = journal_->compact();
  }
  if (!done) notice(Notice::Level::warning, done.error().message());
  return is_all_safe;
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
    if (inbox_.leaves_round()) return RoundExit::held;
    if (committer_.has_unsynced()) return RoundExit::failed;
    follow_version();
    const auto begun = std::ranges::find(begun_, index, &Journal::Entry::index);
    const std::uint64_t failed_syncs = committer_.failed_syncs();
    Gate gate = control_.gate(index);
    StateResult result = executor_.execute({.recipe = *recipe_,
                                            .state = states[index],
                                            .index = index,
                                            .place = place_,
                                            .version = version_,
                                            .begun = begun == begun_.end() ? nullptr : &*begun,
                                            .expected_plan = index < settings_.expected_plans.size()
                                                                 ? settings_.expected_plans[index]
                                                                 : std::string_view(),
                                            .plan_salt = settings_.plan_salt,
                                            .gate = &gate});
    // Nothing has become of this wait: the next round waits on. What a killed run had begun stays begun.
    if (std::exchange(has_left_wait_, false))
      return inbox_.has_next_after_round() ? RoundExit::replaced : RoundExit::held;
    result.version = version_;  // a wait may have seen it move
    settle_written(result);
    if (std::string doubt = doubt_about(states[index], begun == begun_.end() ? nullptr : &*begun);
        is_success(result.outcome) && !doubt.empty()) {
      result.outcome = Outcome::failed;
      result.comment += doubt;
    }
    if (begun != begun_.end() && !result.begun_in)
      report_leftover(as_uncertain(*begun, "what it was for does not hold any more"));
    std::erase_if(begun_, [&](const Journal::Entry& entry) { return entry.index == index; });
    follow(result);
    count(result, end);
    if (settings_.reports && (result.outcome != Outcome::kept || result.is_journalled))
      answered_.insert(report_key(journalled_in(result), index));
    const bool success = is_success(result.outcome);
    if (!success) note_failure(result);
    const bool ends_round = !success && !goes_on_after(result);
    committer_.submit(std::move(result), failed_syncs);
    if (success) move_place(index + 1);
    // A later record in the journal says that all before it were made: this one must not be among them.
    const bool is_told = success || ends_round || committer_.flush();
    if (ends_round || !is_told) {
      --end.not_reached;
      inbox_.drain();
      if (inbox_.stops_before_next_state()) return RoundExit::stopped;
      if (inbox_.has_next()) return RoundExit::replaced;
      return inbox_.leaves_round() ? RoundExit::held : RoundExit::failed;
    }
  }
  end.not_reached = 0;
  return has_failed_ ? RoundExit::failed : RoundExit::converged;
}

// What became of a state, for those that follow or require it.
void WorkerLoop::follow(StateResult& result) {
  const bool is_good = is_success(result.outcome) && !result.is_blocked;
  result.is_news = is_good && !told_[result.index];
  told_[result.index] = is_good;
  control_.note(result.index, result.is_blocked                    ? Became::blocked
                              : !is_success(result.outcome)        ? Became::failed
                              : result.outcome == Outcome::changed ? Became::changed
                              : result.outcome == Outcome::kept    ? Became::kept
                                                                   : Became::nothing);
}

// Whoever was cancelled was asked to stop.
bool WorkerLoop::goes_on_after(const StateResult& result) {
  return result.outcome != Outcome::cancelled && control_of(recipe_->states()[result.index]).continues;
}

// Of those in one round, the first decides when the next one is.
void WorkerLoop::note_failure(const StateResult& result) {
  if (std::exchange(has_failed_, true)) return;
  next_round_in_ = back_off(result);
  last_failure_ = result;
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
    told_[result.index] = false;
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

// What others call the state with this key.
std::string WorkerLoop::id_of(std::string_view key) const {
  if (recipe_)
    for (const recipe::State& state : recipe_->states())
      if (state.key == key) return std::string(state.id);
  return std::string(key);
}

base::Result<void> WorkerLoop::wait(std::string_view state_id, Deadline deadline) {
  bool is_announced = false;
  inbox_.drain();
  while (true) {
    follow_version();  // the backend speaks of the new one from now on
    if (is_done(state_id)) return {};
    if (inbox_.stops_before_next_state() || inbox_.has_next())
      return base::Error(base::ErrorCode::cancelled, "Stopped waiting");
    // Nobody wants the machine to go on by itself when another one is ready.
    if (inbox_.is_held() && !inbox_.is_in_run()) {
      has_left_wait_ = true;
      return base::Error(base::ErrorCode::cancelled, "Stopped waiting: the machine is held");
    }
    // A wait may go on for days, and what it waits for may need these modules.
    if (inbox_.has_next_after_round() && !inbox_.is_in_run()) {
      has_left_wait_ = true;
      return base::Error(base::ErrorCode::cancelled, "Stopped waiting: the modules have changed");
    }
    if (!settings_.has_backend)
      return base::Error(
          base::ErrorCode::unsupported,
          "Waits for states of other machines, and no backend is connected that could say when they are "
          "done. If they are, say so with --assume-done " +
              std::string(state_id));
    if (Clock::now() >= deadline)
      return base::Error(base::ErrorCode::timed_out, "Still not done when the state's time was over");
    if (!is_announced) {
      committer_.submit(StateStarted{.id = id_of(state_id), .module = "meta.wait", .message = "Waits"});
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
