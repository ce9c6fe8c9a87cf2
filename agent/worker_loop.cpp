#include "agent/worker_loop.hpp"

#include <algorithm>

#include "agent/planner.hpp"
#include "agent/secrets.hpp"

namespace agent {

namespace {

using Clock = Inbox::Clock;

std::chrono::microseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
}

}  // namespace

WorkerLoop::WorkerLoop(const WorkerSettings& settings, base::Redactor& redactor,
                       base::Channel<Command>& commands, base::Channel<Event>& events,
                       std::unique_ptr<Journal> journal)
    : settings_(settings),
      redactor_(redactor),
      journal_(std::move(journal)),
      // Without a backend a wait is only declared done for this run.
      waits_(settings.has_backend ? settings.state_dir + "/waits" : std::string()),
      inbox_(commands, waits_),
      machine_(settings.host, sync_),
      watches_(settings.state_dir + "/watch"),
      lock_(settings.state_dir + "/lock"),
      committer_(events, sync_, journal_.get()),
      executor_({.machine = machine_,
                 .journal = *journal_,
                 .committer = committer_,
                 .watches = watches_,
                 .redactor = redactor_,
                 .interrupt = inbox_,
                 .waits = *this,
                 .retry_delay = settings.retry_delay}) {}

void WorkerLoop::notice(Notice::Level level, std::string text) {
  committer_.submit(Notice{level, redactor_.redact(text)});
}

void WorkerLoop::run() {
  while (true) {
    inbox_.drain();
    if (inbox_.stops_before_next_state()) break;
    if (auto next = inbox_.take_next()) adopt(std::move(*next));
    if (!recipe_) {
      if (inbox_.stop()) break;
      inbox_.wait();
      continue;
    }
    if (mode_ == Mode::plan) {
      plan_only();
      continue;
    }
    const RoundExit exit = run_round();
    if (exit == RoundExit::replaced) continue;
    if (exit == RoundExit::stopped || inbox_.stop()) break;
    const Clock::time_point next_round = Clock::now() + next_round_in_;
    while (Clock::now() < next_round && !inbox_.has_next() && !inbox_.stop())
      inbox_.wait_until(next_round);
    if (inbox_.stop() && !inbox_.has_next()) break;
  }
  committer_.flush();
}

void WorkerLoop::adopt(RunRecipe next) {
  recipe_ = std::move(next.recipe);
  mode_ = next.mode;
  version_ = next.version;
  round_ = 0;
  resume_ = next.resume;
  first_ = 0;
  back_off_ = {};
  inbox_.set_current(version_);
  if (auto forgotten = waits_.forget_before(version_); !forgotten)
    notice(Notice::Level::warning, forgotten.error().message());
  register_secrets(*recipe_, redactor_);
  was_right_.assign(recipe_->states().size(), false);
}

void WorkerLoop::plan_only() {
  PlanResult planned =
      plan_recipe(*recipe_, settings_.host, redactor_, inbox_, {.state_dir = settings_.state_dir});
  planned.version = version_;
  committer_.submit(std::move(planned));
  recipe_.reset();
}

// What a run that was killed has left to us, now that it is our turn.
base::Result<void> WorkerLoop::take_over() {
  if (auto loaded = journal_->load(); !loaded) return loaded;
  sweep_leftovers();
  begun_.clear();
  for (const Journal::Entry& entry : journal_->unfinished())
    if (entry.digest == recipe_->digest() && entry.root == settings_.host.root &&
        entry.index < recipe_->states().size())
      begun_.push_back(entry);
  if (std::exchange(resume_, false) && !begun_.empty()) first_ = begun_.front().index;
  return {};
}

// Temporaries of changes that were begun when an earlier run was killed.
void WorkerLoop::sweep_leftovers() {
  for (const Journal::Entry& entry : journal_->unfinished()) {
    base::Tree tree(entry.root);
    base::TreeWriter writer(tree, sync_);
    for (const std::string& path : entry.scratch)
      if (auto removed = writer.remove_scratch(path); !removed)
        notice(Notice::Level::warning, removed.error().message());
  }
}

WorkerLoop::RoundExit WorkerLoop::run_round() {
  auto ready = lock_.acquire(inbox_, [&](const std::string& pid) {
    notice(Notice::Level::info, "waiting for another run to end (process " + pid + ")");
  });
  if (ready) ready = take_over();
  if (!ready) {
    lock_.release();
    if (inbox_.stop()) return RoundExit::stopped;
    if (inbox_.has_next()) return RoundExit::replaced;
    notice(Notice::Level::warning, ready.error().message());
    next_round_in_ = settings_.longest_back_off;
    return RoundExit::failed;
  }

  machine_.new_round();
  RoundEnd end{.version = version_, .round = ++round_};
  const Clock::time_point started = Clock::now();
  committer_.submit(RoundStarted{
      .version = version_, .round = round_, .first = first_, .states = recipe_->states().size()});
  const RoundExit exit = run_states(end);
  first_ = 0;
  begun_.clear();
  if (exit == RoundExit::converged) {
    back_off_ = {};
    next_round_in_ = settings_.round_delay;
  }
  end.duration = since(started);
  if (exit != RoundExit::stopped && exit != RoundExit::replaced && !inbox_.stop()) end.next = next_round_in_;
  committer_.submit(std::move(end));
  committer_.flush();
  if (auto cleared = journal_->clear(); !cleared) notice(Notice::Level::warning, cleared.error().message());
  lock_.release();
  return exit;
}

WorkerLoop::RoundExit WorkerLoop::run_states(RoundEnd& end) {
  const std::vector<recipe::State>& states = recipe_->states();
  for (std::size_t index = first_; index < states.size(); ++index) {
    end.not_reached = states.size() - index;
    inbox_.drain();
    if (inbox_.stops_before_next_state()) return RoundExit::stopped;
    if (inbox_.has_next()) return RoundExit::replaced;
    if (auto moved = inbox_.take_version()) {
      version_ = end.version = *moved;
      inbox_.set_current(version_);
    }
    const auto begun = std::ranges::find(begun_, index, &Journal::Entry::index);
    StateResult result = executor_.execute({.recipe = *recipe_,
                                            .state = states[index],
                                            .index = index,
                                            .round = round_,
                                            .version = version_,
                                            .begun = begun == begun_.end() ? nullptr : &*begun,
                                            .expected_plan = index < settings_.expected_plans.size()
                                                                 ? settings_.expected_plans[index]
                                                                 : std::string_view()});
    count(result, end);
    const bool success = is_success(result.outcome);
    if (!success) {
      next_round_in_ = back_off(result);
      last_failure_ = result;
    }
    committer_.submit(std::move(result));
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

void WorkerLoop::count(const StateResult& result, RoundEnd& end) {
  ++end.counts[static_cast<std::size_t>(result.outcome)];
  if (result.outcome == Outcome::changed && was_right_[result.index]) end.drift.push_back(result.id);
  if (result.outcome == Outcome::changed || result.outcome == Outcome::kept) was_right_[result.index] = true;
}

// Doubles while the same state fails in the same way.
std::chrono::milliseconds WorkerLoop::back_off(const StateResult& failed) {
  const bool same =
      back_off_.count() > 0 && failed.id == last_failure_.id && failed.comment == last_failure_.comment;
  back_off_ = same ? std::min(back_off_ * 2, settings_.longest_back_off) : settings_.first_back_off;
  return back_off_;
}

bool WorkerLoop::is_done(std::string_view state_id) {
  return waits_.is_done(version_, state_id);
}

base::Result<void> WorkerLoop::wait(std::string_view state_id) {
  inbox_.drain();
  while (!is_done(state_id)) {
    if (inbox_.stops_before_next_state() || inbox_.has_next())
      return base::Error(base::ErrorCode::cancelled, "Stopped waiting");
    if (!settings_.has_backend)
      return base::Error(
          base::ErrorCode::unsupported,
          "Waits for states of other machines, and no backend is connected that could say when they are "
          "done. If they are, say so with --assume-done " +
              std::string(state_id));
    committer_.flush();
    inbox_.wait();
  }
  return {};
}

}  // namespace agent
