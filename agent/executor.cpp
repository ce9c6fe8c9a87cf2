#include "agent/executor.hpp"

#include <poll.h>

#include <algorithm>
#include <exception>

#include "agent/planner.hpp"
#include "agent/secrets.hpp"
#include "base/output_text.hpp"

namespace agent {

namespace {

using Clock = std::chrono::steady_clock;

const states::Overlay kNothingPlanned;

// Modules do not throw; what a library throws all the same is a failed state, not a dead worker.
template <class Function, class Failure>
auto guarded(Function function, Failure failure) -> decltype(function()) {
  try {
    return function();
  } catch (const std::exception& error) {
    return failure(std::string("Internal error: ") + error.what());
  } catch (...) {
    return failure(std::string("Internal error"));
  }
}

Outcome outcome_of(states::AppliedEnd end) {
  switch (end) {
    case states::AppliedEnd::done:
      return Outcome::changed;
    case states::AppliedEnd::failed:
      return Outcome::failed;
    case states::AppliedEnd::cancelled:
      return Outcome::cancelled;
    case states::AppliedEnd::timed_out:
      return Outcome::timed_out;
  }
  return Outcome::failed;
}

std::string still_different(const states::Plan& plan, const std::vector<states::Change>& shown) {
  std::string text = "Did not converge: " + plan.message;
  for (const states::Change& change : shown)
    text += "\n" + change.what + " is still " + change.before + ", wanted " + change.after;
  return text;
}

std::string not_as_planned(const std::string& found) {
  return "The machine is not as it was when the plan was made: " + found + ". Plan again.";
}

// What is planned now, after what was begun before and is not to be done any more.
std::vector<states::Change> added_to(const std::vector<states::Change>& begun,
                                     const std::vector<states::Change>& planned) {
  std::vector<states::Change> all;
  for (const states::Change& change : begun)
    if (std::ranges::find(planned, change.what, &states::Change::what) == planned.end())
      all.push_back(change);
  all.insert(all.end(), planned.begin(), planned.end());
  return all;
}

std::vector<states::Change> without_diffs(std::vector<states::Change> changes) {
  for (states::Change& change : changes)
    change.diff.clear();
  return changes;
}

// Folders appear under a temporary name, too.
std::vector<std::string> scratch_of(const states::Plan& plan) {
  std::vector<std::string> paths = plan.scratch;
  for (const states::Effect& effect : plan.effects)
    if (effect.kind == states::EffectKind::directory && effect.present)
      paths.push_back(base::TreeWriter::scratch_path(effect.name));
  return paths;
}

}  // namespace

// One try at a state, with what it needs around it.
struct Executor::Attempt {
  Attempt(Parts& parts, const Job& attempted, StateResult& into, std::vector<states::Change>& begun_before,
          const WatchState& watch)
      : job(attempted),
        result(into),
        begun(begun_before),
        redacting{base::RedactingStream(parts.redactor), base::RedactingStream(parts.redactor)},
        commands(
            Clock::now() + time_limit(attempted.state), parts.interrupt,
            [this, &parts](base::Stream stream, std::string_view data) { show(parts, stream, data); },
            [this, &parts] { before_program(parts); }),
        context(parts.machine.context({.state_id = attempted.state.id,
                                       .overlay = kNothingPlanned,
                                       .commands = commands,
                                       .interrupt = parts.interrupt,
                                       .waits = parts.waits,
                                       .watch_triggered = watch.triggered,
                                       .watch_changed = watch.changed,
                                       .sensitive = attempted.state.sensitive})) {}

  static std::chrono::seconds time_limit(const recipe::State& state) {
    if (state.timeout) return *state.timeout;
    const auto own = state.type->time_limit ? state.type->time_limit(state.params) : std::nullopt;
    return own.value_or(state.type->timeout);
  }

  void show(Parts& parts, base::Stream stream, std::string_view data) {
    if (job.state.sensitive || !applying) return;
    std::string safe = redacting[stream == base::Stream::err].add(data);
    if (!safe.empty()) parts.committer.submit_output({std::string(job.state.id), stream, std::move(safe)});
  }

  // Whatever a program does cannot be undone by a look at the disk: the journal must be there first.
  void before_program(Parts& parts) {
    if (!applying) return;
    if (auto synced = parts.journal.sync(); !synced)
      parts.committer.submit(Notice{Notice::Level::warning, synced.error().message()});
    announce(parts);
  }
  void announce(Parts& parts) {
    if (std::exchange(announced, true)) return;
    parts.committer.submit(StateStarted{std::string(job.state.id), std::string(job.state.type->name),
                                        job.index, parts.redactor.redact(message)});
  }

  const Job& job;
  StateResult& result;
  std::vector<states::Change>& begun;  // by earlier attempts, or a run that was killed; not reported yet
  base::RedactingStream redacting[2];
  states::Commands commands;
  states::ApplyContext context;
  bool applying = false;
  bool announced = false;
  std::string message;  // what is going to be done
};

StateResult Executor::execute(const Job& job) {
  const recipe::State& state = job.state;
  StateResult result{.id = std::string(state.id),
                     .module = std::string(state.type->name),
                     .version = job.version,
                     .round = job.round,
                     .index = job.index,
                     .started = std::chrono::system_clock::now()};
  const Clock::time_point started = Clock::now();
  const auto finish = [&](Outcome outcome, std::string comment) {
    result.outcome = outcome;
    if (!comment.empty()) result.comment = std::move(comment);
    if (parts_.redactor.is_needed(result.comment)) result.comment = parts_.redactor.redact(result.comment);
    result.output = hide(state, parts_.redactor, std::move(result.output));
    hide(state, parts_.redactor, result.changes);
    result.duration = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started);
    return std::move(result);
  };

  if (state.when && !parts_.machine.check(*state.when, kNothingPlanned).holds) {
    if (job.expected_plan.empty() || job.expected_plan == kSkippedFingerprint)
      return finish(Outcome::skipped, "Skipped: its condition does not hold");
    return finish(Outcome::failed, not_as_planned("the condition of the state does not hold any more"));
  }
  if (auto refused = parts_.machine.refusal(*state.type)) return finish(Outcome::failed, std::move(*refused));

  WatchState watch;
  if (state.type->watch) {
    auto evaluated =
        parts_.watches.evaluate(state.id, state.type->watch(state.params), parts_.machine.host().root);
    if (!evaluated) return finish(Outcome::failed, evaluated.error().message());
    watch = std::move(*evaluated);
  }

  std::vector<states::Change> begun = job.begun ? job.begun->changes : std::vector<states::Change>();
  for (unsigned attempt = 1;; ++attempt) {
    result.attempt = attempt;
    result.changes.clear();
    result.output.clear();
    Attempt current(parts_, job, result, begun, watch);
    run(current);
    if (is_success(result.outcome) || result.outcome == Outcome::cancelled) break;
    if (attempt > state.retries || !pause_before_retry()) break;
  }
  if (is_success(result.outcome) && state.type->watch) {
    if (auto stored = parts_.watches.store(state.id, watch); !stored)
      return finish(Outcome::failed,
                    result.comment + "\nCannot remember the watched files: " + stored.error().message());
  }
  return finish(result.outcome, {});
}

void Executor::run(Attempt& attempt) {
  const recipe::State& state = attempt.job.state;
  StateResult& result = attempt.result;
  states::Plan plan = guarded([&] { return state.type->plan(state.params, attempt.context); },
                              [](std::string text) { return states::Plan::fail(std::move(text)); });
  result.comment = plan.message;
  result.changes = plan.changes;
  hide(state, parts_.redactor, result.changes);
  // Only at first: what another attempt finds is the work of the one before.
  if (result.attempt == 1 && !attempt.job.expected_plan.empty() &&
      fingerprint(plan.verdict, result.changes) != attempt.job.expected_plan) {
    result.outcome = Outcome::failed;
    result.comment = not_as_planned(plan.message);
    return;
  }
  switch (plan.verdict) {
    case states::Verdict::kept:
      result.outcome = Outcome::kept;
      if (!attempt.begun.empty()) {
        // Made before, by somebody who could not say so.
        result.outcome = Outcome::changed;
        result.resumed = attempt.job.begun != nullptr;
        result.changes = attempt.begun;
      }
      return;
    case states::Verdict::fail:
    case states::Verdict::unknown:
      result.outcome = Outcome::failed;
      return;
    case states::Verdict::change:
      apply(attempt, plan);
      return;
  }
}

void Executor::apply(Attempt& attempt, const states::Plan& plan) {
  const recipe::State& state = attempt.job.state;
  StateResult& result = attempt.result;
  const std::string seen = fingerprint(plan.verdict, result.changes);
  result.changes = added_to(attempt.begun, std::move(result.changes));

  Journal::Entry entry{.digest = attempt.job.recipe.digest(),
                       .root = parts_.machine.host().root,
                       .round = attempt.job.round,
                       .index = attempt.job.index,
                       .id = result.id,
                       .plan = seen,
                       .changes = without_diffs(result.changes),
                       .scratch = scratch_of(plan)};
  if (auto begun = parts_.journal.begin(entry); !begun) {
    result.outcome = Outcome::failed;
    result.comment = "Not changed, because it cannot be journalled: " + begun.error().message();
    return;
  }
  parts_.committer.journal_written();
  attempt.begun = result.changes;

  attempt.applying = true;
  attempt.message = plan.message;
  states::Applied applied =
      guarded([&] { return state.type->apply(state.params, plan, attempt.context); },
              [](std::string text) { return states::Applied::failed(std::move(text)); });
  attempt.applying = false;
  for (base::RedactingStream& stream : attempt.redacting)
    (void)stream.finish();

  const states::Commands::Usage& usage = attempt.commands.usage();
  result.outcome = outcome_of(applied.end);
  result.comment = std::move(applied.comment);
  result.output =
      applied.output.empty() && !applied.ok() ? attempt.commands.interrupted_output() : applied.output;
  // Of programs only: a diff is shown as it is.
  if (usage.programs > 0) result.output = base::clean_output(result.output);
  result.exit_code = usage.last_exit_code;
  result.cpu = usage.cpu;
  result.max_rss_kb = usage.max_rss_kb;
  result.truncated = usage.truncated;
  if (usage.programs > 0) parts_.machine.distrust();
  if (!applied.ok() || !state.type->rereadable) return;

  attempt.context.watch_triggered = false;
  attempt.context.watch_changed = {};
  const states::Plan again = guarded([&] { return state.type->plan(state.params, attempt.context); },
                                     [](std::string text) { return states::Plan::fail(std::move(text)); });
  if (again.verdict == states::Verdict::kept) return;
  std::vector<states::Change> shown = again.changes;
  hide(state, parts_.redactor, shown);
  result.outcome = Outcome::failed;
  result.comment = still_different(again, shown);
}

bool Executor::pause_before_retry() {
  const Clock::time_point until = Clock::now() + parts_.retry_delay;
  while (!parts_.interrupt.requested()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return true;
    pollfd wake{parts_.interrupt.wait_fd(), POLLIN, 0};
    ::poll(&wake, wake.fd >= 0 ? 1 : 0, static_cast<int>(left));
  }
  return false;
}

}  // namespace agent
