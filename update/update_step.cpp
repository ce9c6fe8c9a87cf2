// step() and start() of update_table.hpp: the rows, with what only this process knows.
#include <algorithm>
#include <utility>

#include "update/update_table.hpp"

namespace update {

namespace {

Phase phase_of(const Progress& progress) {
  // Where no update was ever asked for, as after one that went well.
  return progress.record ? progress.record->phase : Phase::confirmed;
}

bool is_in_trial(const Progress& progress) {
  return progress.record && progress.record->phase == Phase::trial && !progress.is_giving_up;
}

bool is_healthy(const Progress& progress) {
  return is_in_trial(progress) && progress.is_welcomed && progress.is_self_tested && progress.is_old_enough;
}

const Transition* row_of(Phase phase, Event event) {
  const auto rows = transitions();
  const auto found = std::ranges::find_if(
      rows, [&](const Transition& row) { return row.from == phase && row.event == event; });
  return found == rows.end() ? nullptr : &*found;
}

bool has(const RowActions& actions, Action wanted) {
  return std::ranges::find(actions, wanted) != actions.end();
}

// What the process remembers of an event, whatever the phase.
void remember(Progress& progress, Event event) {
  if (event == Event::welcomed) progress.is_welcomed = true;
  if (event == Event::self_tested) progress.is_self_tested = true;
  if (event == Event::trial_over) progress.is_old_enough = true;
  if (event == Event::unhealthy) progress.is_giving_up = true;
  if (event == Event::floor_raised) progress.is_floor_due = false;
  // Whoever asks has made sure of `current` before.
  if (event == Event::current_restored || event == Event::asked) progress.is_current_due = false;
}

// The record as the event changes it, but for its phase.
Record changed_by(const Progress& progress, const Input& input) {
  Record record = input.record ? *input.record : *progress.record;
  if (input.why) {
    record.reason = input.why->reason;
    record.retryable = input.why->retryable;
  }
  if (input.event == Event::reported) record.is_reported = true;
  if (input.event == Event::unhealthy) {
    record.attempts = kGivenUp;
    record.retryable = false;
  }
  // Should it never be welcomed, that is nothing against this version; after that there is no excuse.
  if (input.event == Event::welcomed || input.event == Event::self_tested) {
    record.retryable = !progress.is_welcomed;
    record.reason = progress.is_welcomed ? kNotHealthy : kNotAccepted;
  }
  return record;
}

// Appends the actions, without those that have nothing to do.
void add(Step& step, const Actions& actions) {
  const std::optional<Record>& record = step.next.record;
  for (const Action action : actions) {
    if (action == Action::report_closing && record && record->is_reported) continue;
    if (action == Action::raise_floor) {
      step.next.is_floor_due = record && record->release > 0;
      if (!step.next.is_floor_due) continue;
    }
    if (action == Action::restore_current) step.next.is_current_due = true;
    step.actions.push_back(action);
  }
}

void forget_retry(Progress& progress) {
  progress.retry_input.reset();
  progress.retry_action.reset();
}

Step done(Progress progress, const Actions& actions = {}) {
  Step step{.next = std::move(progress), .actions = {}};
  add(step, actions);
  return step;
}

// To the row's phase: the journal first, if the record changes.
Step follow(Progress progress, const Transition& row, const Input& input) {
  const Actions actions(row.actions.begin(), row.actions.end());
  if (!progress.record && !input.record) return done(std::move(progress), actions);
  Record changed = changed_by(progress, input);
  changed.phase = row.to;
  if (has(row.actions, Action::write_note) || changed == progress.record) {
    progress.record = std::move(changed);
    return done(std::move(progress), actions);
  }
  progress.pending = Progress::Pending{input, std::move(changed), actions};
  return done(std::move(progress), {Action::write_journal});
}

// ---- the journal

std::optional<Step> on_written(Progress progress) {
  if (!progress.pending) return std::nullopt;
  Actions actions = std::move(progress.pending->then);
  progress.record = std::move(progress.pending->record);
  progress.pending.reset();
  forget_retry(progress);
  if (!is_closed(progress.record->phase)) actions.insert(actions.begin(), Action::report);
  return done(std::move(progress), actions);
}

std::optional<Step> on_not_written(Progress progress) {
  if (!progress.pending) return std::nullopt;
  const Input input = std::move(progress.pending->input);
  progress.pending.reset();
  // As if nobody had asked. The write may have failed after the rename, and a restart would go on with what
  // is answered as failed: so the journal is put back.
  if (input.event == Event::asked)
    return done(std::move(progress), {Action::restore_journal, Action::answer_failure});
  if (input.event == Event::reported) return done(std::move(progress), {Action::wait_to_report});
  const bool is_soon = phase_of(progress) == Phase::trial;
  forget_retry(progress);
  progress.retry_input = input;
  return done(std::move(progress), {is_soon ? Action::wait_to_retry_soon : Action::wait_to_retry});
}

std::optional<Step> on_retry_due(Progress progress) {
  const std::optional<Input> input = std::exchange(progress.retry_input, std::nullopt);
  const std::optional<Action> action = std::exchange(progress.retry_action, std::nullopt);
  if (input) return step(progress, *input);
  return done(std::move(progress), action ? Actions{*action} : Actions{});
}

// ---- everything else

// Nothing: no row.
std::optional<Step> on_phase_free(const Progress& progress, const Input& input) {
  const auto rows = phase_free_rows();
  const auto found = std::ranges::find(rows, input.event, &PhaseFreeRow::event);
  if (found == rows.end()) return std::nullopt;
  if (input.event == Event::current_due && !progress.is_current_due) return done(progress);
  Progress next = progress;
  if (input.event == Event::thread_busy) next.retry_action = input.busy;
  return done(std::move(next), Actions(found->actions.begin(), found->actions.end()));
}

// What the trial hears while it is over already, or for the second time.
bool is_idle(const Progress& before, Event event) {
  const bool is_of_trial =
      event == Event::welcomed || event == Event::self_tested || event == Event::self_test_timed_out;
  if (!is_of_trial) return false;
  return before.is_giving_up || (event == Event::welcomed && before.is_welcomed);
}

std::optional<Step> on_event(const Progress& before, const Input& input) {
  Progress progress = before;
  remember(progress, input.event);
  if (is_idle(before, input.event)) return done(std::move(progress));
  const Transition* row = row_of(phase_of(before), input.event);
  if (!row) return on_phase_free(progress, input);
  if (!before.record && !input.record) return std::nullopt;
  if (input.event == Event::journal_fails) progress.retry_action = Action::check_journal;
  return follow(std::move(progress), *row, input);
}

Input healthy() {
  return {.event = Event::healthy, .why = Why{}};
}

// Whether an event can be what a trial has waited for.
bool may_make_healthy(Event event) {
  return event == Event::welcomed || event == Event::self_tested || event == Event::trial_over;
}

}  // namespace

std::optional<Step> step(const Progress& progress, const Input& input) {
  if (input.event == Event::written) return on_written(progress);
  if (input.event == Event::not_written) return on_not_written(progress);
  if (input.event == Event::retry_due) return on_retry_due(progress);
  std::optional<Step> taken = on_event(progress, input);
  if (!taken || !may_make_healthy(input.event) || !is_healthy(taken->next)) return taken;
  const Transition* row = row_of(Phase::trial, Event::healthy);
  const Step then = follow(taken->next, *row, healthy());
  taken->next = then.next;
  taken->actions.insert(taken->actions.end(), then.actions.begin(), then.actions.end());
  return taken;
}

// ---- after a start

namespace {

// Noted as over, but `current` could not be led back: the launcher has started us by our own path.
bool is_way_back_open(const Record& record, const Found& found) {
  const bool is_over = record.phase == Phase::rolled_back || record.phase == Phase::failed;
  return is_over && !found.own.empty() && found.own == record.from && found.current == record.to;
}

// Why an update does not go on where this start finds it; nothing when it does.
std::optional<Why> why_interrupted(const Record& record, const Found& found, bool is_new) {
  if (is_closed(record.phase) || is_new == is_on_trial(record)) return std::nullopt;
  if (is_new) return Why{.reason = "the new version was started before it was to be tried"};
  if (found.current != record.to && record.attempts == 0)
    return Why{.reason = "interrupted before the switch"};
  // The launcher has started us instead, because it could not note the attempt.
  return Why{.reason = "the launcher could not write the update journal"};
}

}  // namespace

Step start(const std::optional<Record>& record, const Found& found) {
  Step first{.next = {.record = record}, .actions = {}};
  // What is confirmed is cleaned when it is settled.
  if (!record || (is_closed(record->phase) && record->phase != Phase::confirmed)) add(first, {Action::clean});
  if (!record) return first;
  const bool is_new = !found.own.empty() && found.own == record->to;
  const bool runs_instead =
      !is_new && is_on_trial(*record) && !found.own.empty() && found.current == record->to;
  if (runs_instead || is_way_back_open(*record, found)) add(first, {Action::restore_current});
  Input input{.event = is_new ? Event::restarted_as_new : Event::restarted_as_old,
              .why = why_interrupted(*record, found, is_new)};
  if (!found.problem.empty() && is_new && is_on_trial(*record))
    input = {.event = Event::unhealthy, .why = Why{.reason = found.problem, .retryable = false}};
  if (auto taken = step(first.next, input)) {
    first.next = std::move(taken->next);
    first.actions.insert(first.actions.end(), taken->actions.begin(), taken->actions.end());
  }
  return first;
}

}  // namespace update
