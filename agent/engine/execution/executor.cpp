#include "agent/engine/execution/executor.hpp"

#include <algorithm>
#include <iterator>

#include "agent/engine/execution/planner.hpp"
#include "agent/engine/execution/prepare.hpp"
#include "agent/engine/records/advice.hpp"
#include "agent/engine/secrets.hpp"
#include "base/fnv.hpp"
#include "base/output_text.hpp"

namespace agent::engine {

namespace {

using Clock = std::chrono::steady_clock;

const states::Overlay kNothingPlanned;

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

// What is planned now, after what was begun before and is not to be done any more. Changes are told apart by
// their text: of what a killed run had begun, the text in the journal is all that is left.
std::vector<states::Change> added_to(const std::vector<states::Change>& begun,
                                     std::vector<states::Change> planned) {
  if (begun.empty()) return planned;
  std::vector<states::Change> all;
  for (const states::Change& change : begun)
    if (std::ranges::find(planned, change.what, &states::Change::what) == planned.end())
      all.push_back(change);
  std::ranges::move(planned, std::back_inserter(all));
  return all;
}

// What is about to be done, in few digits: tells two plans of one state in the journal apart.
std::string short_mark(const std::vector<states::Change>& changes) {
  base::Fnv1a hash;
  for (const states::Change& change : changes)
    for (const std::string* part : {&change.what, &change.before, &change.after})
      hash.add(*part).add(std::string_view("\0", 1));
  return hash.hex();
}

// The temporaries that applying the plan may need, by names that nobody knows yet.
std::vector<std::string> new_scratch(const states::Plan& plan, base::TreeWriter& files) {
  std::vector<std::string> paths;
  const auto add = [&](const std::string& written) {
    std::string path = files.scratch_path(written);
    if (std::ranges::find(paths, path) == paths.end()) paths.push_back(std::move(path));
  };
  files.renew_scratch();
  for (const std::string& path : plan.written)
    add(path);
  // Folders appear by way of a temporary, too.
  for (const states::Effect& effect : plan.effects)
    if (effect.kind == states::EffectKind::directory && effect.present) add(effect.name);
  return paths;
}

}  // namespace

// One try at a state, with what it needs around it.
struct Executor::Attempt {
  Attempt(Parts& parts, const Job& attempted, StateResult& into,
          const std::vector<states::Change>& begun_before, WatchState& watched)
      : job(attempted),
        result(into),
        begun(begun_before),
        watch(watched),
        session({.state = attempted.state,
                 .overlay = kNothingPlanned,
                 .watch = watched,
                 .orders = attempted.gate ? &attempted.gate->orders : nullptr,
                 .machine = parts.machine,
                 .interrupt = parts.interrupt,
                 .waits = parts.waits,
                 .wants_diffs = diffs_are_read(parts, attempted),
                 .plan_salt = attempted.expected_plan.empty() ? std::string_view() : attempted.plan_salt,
                 .live = [this, &parts](base::Stream stream,
                                        std::string_view data) { show(parts, stream, data); },
                 .before_program = [this, &parts] { before_program(parts); },
                 .redactor = &parts.redactor}) {}

  // They are a part of what a saved plan has seen, too.
  static bool diffs_are_read(const Parts& parts, const Job& job) {
    return parts.wants_diffs || !job.expected_plan.empty();
  }

  // Output on its way to whoever watches, in whole characters.
  struct Live {
    std::string text{};        // not sent yet
    std::uint64_t offset = 0;  // of its first byte, those that were dropped on the way included
  };
  void send(Parts& parts, base::Stream stream, Live& from, std::size_t size) {
    if (size == 0) return;
    std::string rest = from.text.substr(size);
    from.text.resize(size);
    parts.committer.submit_output({.run_id = job.place.run_id,
                                   .id = std::string(job.state.id),
                                   .stream = stream,
                                   .offset = std::exchange(from.offset, from.offset + size),
                                   .data = std::exchange(from.text, std::move(rest))});
  }

  void show(Parts& parts, base::Stream stream, std::string_view data) {
    if (job.state.sensitive || !applying) return;
    Live& to = live[stream == base::Stream::err];
    to.text += data;
    send(parts, stream, to, base::whole_characters(to.text));
  }
  // What was held back because more might have come.
  void finish_showing(Parts& parts) {
    for (const base::Stream stream : {base::Stream::out, base::Stream::err}) {
      Live& from = live[stream == base::Stream::err];
      send(parts, stream, from, from.text.size());
    }
  }

  // Whatever a program does cannot be undone by a look at the disk: the journal must be there first.
  void before_program(Parts& parts) {
    if (!applying) return;
    if (auto synced = parts.journal.sync(); !synced)
      parts.committer.submit(Notice{Notice::Level::warning, synced.error().message()});
    if (auto synced = parts.due.sync(); !synced)
      parts.committer.submit(Notice{Notice::Level::warning, synced.error().message()});
    // What was written before is on disk before a program runs that may end us; and none of it is held open
    // any more, so that it can be unmounted.
    parts.machine.tree().forget();
    parts.committer.let_go();
    announce(parts);
  }
  void announce(Parts& parts) {
    if (std::exchange(announced, true)) return;
    parts.committer.submit(StateStarted{std::string(job.state.id), std::string(job.state.type->name()),
                                        job.index, hide_in_text(job.state, parts.redactor, message)});
  }

  const Job& job;
  StateResult& result;
  const std::vector<states::Change>&
      begun;  // by earlier attempts, or a run that was killed; not reported yet
  WatchState& watch;
  std::vector<std::string> reacted{};  // parts of the state that are done with what they watch
  Live live[2];
  StateSession session;
  bool has_begun = false;  // something besides, which is in the result's changes
  bool applying = false;
  bool announced = false;
  std::string message;  // what is going to be done
};

StateResult Executor::execute(const Job& job) {
  const recipe::State& state = job.state;
  StateResult result{.id = std::string(state.id),
                     .module = std::string(state.type->name()),
                     .run_id = job.place.run_id,
                     .version = job.version,
                     .round = job.place.round,
                     .index = job.index,
                     .started = std::chrono::system_clock::now()};
  if (job.begun) {
    result.begun_in = job.begun->begun_in;
    result.changes = job.begun->changes;
  }
  const bool can_resume = job.begun && !state.is_off && state.type->rereadable_with(*state.params);
  const Clock::time_point started = Clock::now();
  const auto finish = [&](Outcome outcome, std::string comment) {
    result.outcome = outcome;
    if (!comment.empty()) result.comment = std::move(comment);
    result.comment = hide_in_text(state, parts_.redactor, std::move(result.comment));
    result.output = hide(state, parts_.redactor, std::move(result.output));
    hide(state, parts_.redactor, result.changes);
    result.duration = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started);
    return std::move(result);
  };

  if (const auto passed = pass_by(job, result, can_resume)) return finish(*passed, {});
  LimitedTime time(parts_.interrupt, time_limit(state));
  Prepared prepared = prepare(state, kNothingPlanned, parts_.machine, parts_.watches, time, !can_resume);
  if (prepared.next == Prepared::Next::skip) {
    // Nobody can tell what became of what was begun: it is not this result that speaks of it.
    result.begun_in.reset();
    result.changes.clear();
    if (job.expected_plan.empty() || job.expected_plan == kSkippedFingerprint)
      return finish(Outcome::skipped, "Skipped: its condition does not hold");
    return finish(Outcome::failed, not_as_planned("the condition of the state does not hold any more"));
  }
  if (prepared.next == Prepared::Next::cancelled)
    return time.is_over() ? finish(Outcome::timed_out, time.timed_out(prepared.problem))
                          : finish(Outcome::cancelled, prepared.problem);
  // Nothing is only planned here, so there is nothing to wait for.
  if (prepared.next != Prepared::Next::plan) return finish(Outcome::failed, prepared.problem);

  const auto not_again = [&](unsigned attempt, const std::string& why) {
    return "\nNot tried again after attempt " + std::to_string(attempt) + " of " +
           std::to_string(state.retries + 1) + ": " + why;
  };
  std::vector<states::Change> begun = job.begun ? job.begun->changes : std::vector<states::Change>();
  bool has_begun = job.begun != nullptr;
  for (unsigned attempt = 1;; ++attempt) {
    result.attempt = attempt;
    result.changes.clear();
    result.output.clear();
    Attempt current(parts_, job, result, begun, prepared.watch);
    run(current);
    if (!current.reacted.empty() && !is_success(result.outcome))
      if (auto stored = remember_reacted(current, prepared.watch); !stored)
        result.comment += "\nCannot remember who has reacted: " + stored.error().message();
    if (is_success(result.outcome) || result.outcome == Outcome::cancelled) break;
    if (attempt > state.retries) break;
    if (const std::string why = parts_.rest_between_attempts(); !why.empty()) {
      result.comment += not_again(attempt, why);
      break;
    }
    // What was looked up before may be what has come into being meanwhile.
    parts_.machine.invalidate_caches();
    if (current.has_begun) begun = std::move(result.changes);
    has_begun = has_begun || current.has_begun;
    // So may what it depends on; but what was begun and can be read again is finished, as after a kill.
    if (!state.when || (has_begun && state.type->rereadable_with(*state.params))) continue;
    const ManagedHost::Condition condition = parts_.machine.check(*state.when, kNothingPlanned);
    if (condition.problem.empty() && condition.holds) continue;
    const std::string now =
        condition.problem.empty() ? "its condition does not hold any more" : condition.problem;
    if (!has_begun && condition.problem.empty()) {
      result.changes.clear();
      return finish(Outcome::skipped, "Skipped: " + now + ". Before that it failed: " + result.comment);
    }
    if (has_begun) result.changes = std::move(begun);
    result.comment += not_again(attempt, now);
    break;
  }
  const bool has_trigger = prepared.watch.triggered || (job.gate && !job.gate->why.empty()) ||
                           (job.gate && !job.gate->orders.empty());
  if (has_trigger && result.outcome != Outcome::kept) result.cause = Cause::trigger;
  if (is_success(result.outcome))
    if (auto stored = remember_success(job, result, prepared.watch); !stored)
      return finish(Outcome::failed, result.comment + "\n" + stored.error().message());
  return finish(result.outcome, {});
}

// Whether it is passed by, by what other states have done, or because it was done once.
std::optional<Outcome> Executor::pass_by(const Job& job, StateResult& result, bool can_resume) {
  if (!job.gate) return std::nullopt;
  const Gate& gate = *job.gate;
  if (gate.problem) {
    result.comment = *gate.problem;
    return Outcome::failed;
  }
  if (gate.way == Gate::Way::open) return std::nullopt;
  // What a killed run had begun was to be done then.
  if (can_resume && !gate.is_blocked && !gate.done) return std::nullopt;
  const std::string report = report_key(journalled_in(result), job.index);
  const bool was_done =
      job.begun && (gate.done ? gate.done->report == report
                              : parts_.due.has_followed(parts_.machine.host().root, job.state.id, report));
  if (was_done && !gate.is_blocked) {
    result.resumed = true;
    result.comment = "Made by a run that was killed before it could say so";
    return Outcome::changed;
  }
  // Nobody can tell what became of what was begun: it is not this result that speaks of it.
  result.begun_in.reset();
  result.changes.clear();
  result.comment = gate.why;
  result.is_blocked = gate.is_blocked;
  if (gate.is_blocked || job.expected_plan.empty() || job.expected_plan == kSkippedFingerprint)
    return Outcome::skipped;
  result.comment = not_as_planned(gate.why);
  return Outcome::failed;
}

base::Result<void> Executor::remember_reacted(Attempt& attempt, WatchState& watch) {
  const Job& job = attempt.job;
  if (auto stored = parts_.watches.store_reacted(job.state.key, attempt.reacted, watch); !stored)
    return stored;
  if (!job.gate || job.gate->orders.empty()) return {};
  states::Orders& orders = job.gate->orders;
  for (std::vector<std::string>* done : {&orders.restarted, &orders.reloaded})
    done->insert(done->end(), attempt.reacted.begin(), attempt.reacted.end());
  return parts_.due.reacted(parts_.machine.host().root, job.state.id, attempt.reacted);
}

// On disk, or noted for the next sync, before the result is told.
base::Result<void> Executor::remember_success(const Job& job, const StateResult& result,
                                              const WatchState& watch) {
  if (job.state.type->watches_files())
    if (auto stored = parts_.watches.store(job.state.key, watch); !stored)
      return std::move(stored).error().with_context("Cannot remember the watched files");
  if (!job.gate) return {};
  const std::string& root = parts_.machine.host().root;
  // First of all: a state that has been done once, or has followed, is not asked again whether it has
  // changed.
  if (auto noted = parts_.due.succeeded(root, job.recipe, job.index, result.outcome == Outcome::changed,
                                        result.resumed && result.begun_in ? &*result.begun_in : nullptr);
      !noted)
    return std::move(noted).error().with_context("Cannot note it for the states that follow it");
  const std::string_view key = control_of(job.state).once;
  if (key.empty() && !parts_.due.has_any(root, job.state.id)) return {};
  const std::string report = report_key(journalled_in(result), job.index);
  if (!key.empty()) {
    // What it has done is on disk before it is remembered as done.
    if (auto synced = parts_.sync.flush(); !synced) return synced;
    auto added = parts_.once.add({.root = root,
                                  .id = result.id,
                                  .key = std::string(key),
                                  .at = std::chrono::system_clock::now(),
                                  .report = report});
    if (!added) return std::move(added).error().with_context("Cannot remember that this was done");
  }
  if (auto followed = parts_.due.followed(root, job.state.id, report); !followed)
    return std::move(followed).error().with_context("Cannot remember what it has followed");
  return {};
}

void Executor::run(Attempt& attempt) {
  const recipe::State& state = attempt.job.state;
  StateResult& result = attempt.result;
  states::Plan plan = attempt.session.plan();
  result.comment = plan.message;
  result.changes = plan.changes;
  hide(state, parts_.redactor, result.changes);
  // Only at first: what another attempt finds is the work of the one before.
  if (result.attempt == 1 && !attempt.job.expected_plan.empty() &&
      fingerprint(plan, result.changes) != attempt.job.expected_plan) {
    result.outcome = Outcome::failed;
    result.comment = not_as_planned(plan.message);
    return;
  }
  switch (plan.verdict) {
    case states::Verdict::kept:
      result.outcome = Outcome::kept;
      // A guard holds it back; that says nothing of what was begun before.
      if ((plan.is_held_back || !state.type->rereadable_with(*state.params)) && result.attempt == 1) {
        result.begun_in.reset();
      } else if (!attempt.begun.empty()) {
        // Made before, by somebody who could not say so.
        result.outcome = Outcome::changed;
        result.resumed = attempt.job.begun != nullptr;
        result.changes = attempt.begun;
      }
      return;
    case states::Verdict::fail:
    case states::Verdict::unknown:
      result.outcome = is_cut_short(plan) ? Outcome::cancelled : Outcome::failed;
      if (plan.verdict == states::Verdict::fail && attempt.session.time().is_over()) {
        result.outcome = Outcome::timed_out;
        result.comment = attempt.session.time().timed_out(plan.message);
      }
      if (!attempt.begun.empty()) result.changes = attempt.begun;
      return;
    case states::Verdict::change:
      apply(attempt, plan);
      return;
  }
}

void Executor::apply(Attempt& attempt, const states::Plan& plan) {
  const recipe::State& state = attempt.job.state;
  StateResult& result = attempt.result;
  if (plan.is_refresh) result.cause = Cause::refresh;
  const std::string mark = short_mark(result.changes);
  result.changes = added_to(attempt.begun, std::move(result.changes));

  Journal::Entry entry{.digest = attempt.job.recipe.digest(),
                       .root = parts_.machine.host().root,
                       .version = attempt.job.version,
                       .begun_in = journalled_in(result),
                       .index = attempt.job.index,
                       .id = result.id,
                       .module = result.module,
                       .plan = mark,
                       .changes = std::move(result.changes),
                       .scratch = new_scratch(plan, parts_.machine.files()),
                       .written = plan.written};
  auto journalled = parts_.journal.begin(entry);
  result.changes = std::move(entry.changes);
  std::ranges::move(entry.written, std::back_inserter(result.written));
  if (!journalled) {
    result.outcome = Outcome::failed;
    result.comment = "Not changed, because it cannot be journalled: " +
                     with_advice(journalled.error(), parts_.machine.host().state_dir);
    return;
  }
  parts_.committer.journal_written();
  attempt.has_begun = result.is_journalled = true;
  if (auto noted = note_watches(attempt, plan); !noted) {
    result.outcome = Outcome::failed;
    result.comment =
        "Not changed, because it cannot be noted for those who watch it: " + noted.error().message();
    return;
  }

  attempt.applying = true;
  attempt.message = plan.message;
  states::Applied applied = attempt.session.apply(plan);
  attempt.applying = false;
  attempt.finish_showing(parts_);

  const states::Commands& commands = attempt.session.commands();
  const states::Commands::Usage& usage = commands.usage();
  attempt.reacted = std::move(applied.reacted);
  result.outcome = outcome_of(applied.end);
  result.comment = std::move(applied.comment);
  // Native work that the end of its time has stopped says only that it was stopped.
  if (!applied.ok() && applied.end != states::AppliedEnd::timed_out && attempt.session.time().is_over()) {
    result.outcome = Outcome::timed_out;
    result.comment = attempt.session.time().timed_out(result.comment);
  }
  result.output = applied.output.empty() && !applied.ok() ? commands.interrupted_output() : applied.output;
  // Of programs only: a diff is shown as it is.
  if (usage.programs > 0) result.output = base::clean_output(result.output);
  result.exit_code = usage.last_exit_code;
  result.cpu = usage.cpu;
  result.max_rss_kb = usage.max_rss_kb;
  result.truncated = usage.truncated;
  if (usage.programs > 0) parts_.machine.invalidate_caches();
  if (!applied.ok()) return;
  const auto end_well = [&] {
    // What an earlier attempt, or a killed run, has begun is a change all the same.
    if (!applied.changed_nothing || !attempt.begun.empty()) return;
    result.outcome = Outcome::kept;
    result.changes.clear();
  };
  if (!state.type->rereadable_with(*state.params)) return end_well();

  const states::Plan again = attempt.session.plan_again();
  if (again.verdict == states::Verdict::kept) return end_well();
  const bool is_timed_out = again.verdict == states::Verdict::fail && attempt.session.time().is_over();
  if (is_timed_out || is_cut_short(again)) {
    result.outcome = is_timed_out ? Outcome::timed_out : Outcome::cancelled;
    result.comment += "\nNot looked at again: " + again.message;
    return;
  }
  std::vector<states::Change> shown = again.changes;
  hide(state, parts_.redactor, shown);
  result.outcome = Outcome::failed;
  result.comment = still_different(again, shown);
}

// A look at a large folder that somebody has stopped says nothing of the machine.
bool Executor::is_cut_short(const states::Plan& plan) {
  return plan.verdict == states::Verdict::fail && parts_.interrupt.requested();
}

// What has to be on disk before anything is changed: who watches what is written now has to react, and so has
// this state if it is triggered, also when we are killed on the way.
base::Result<void> Executor::note_watches(Attempt& attempt, const states::Plan& plan) {
  const Job& job = attempt.job;
  for (const recipe::Recipe* recipe : {&job.recipe, job.in_force})
    if (recipe)
      if (auto noted = watchers_.before_change(*recipe, job.place, job.state.key, plan, parts_.interrupt);
          !noted)
        return noted;
  // What runs beside the recipe is none of its states.
  if (job.gate)
    if (auto noted = parts_.due.begin(parts_.machine.host().root, job.recipe, job.index); !noted)
      return noted;
  if (!attempt.watch.triggered) return {};
  return parts_.watches.begin(job.state.key, attempt.watch);
}

}  // namespace agent::engine
