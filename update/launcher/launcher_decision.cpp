#include "update/launcher/launcher_decision.hpp"

#include <algorithm>

namespace update::launcher {

namespace {

bool is_complete(const DiskState& sight, const std::string& name) {
  return std::ranges::find(sight.complete, name) != sight.complete.end();
}

Record closed(Record record, Phase phase, std::string reason, bool retryable) {
  record.phase = phase;
  record.reason = std::move(reason);
  record.retryable = retryable;
  record.is_reported = false;
  return record;
}

// Journal, `current`, the old one.
Decision roll_back(const Record& record, std::string reason, bool retryable) {
  Decision decision;
  decision.say.push_back("version " + record.version + " is rolled back: " + reason);
  decision.write = closed(record, Phase::rolled_back, std::move(reason), retryable);
  decision.switch_to = record.from;
  decision.start = record.from;
  return decision;
}

Decision try_once_more(const DiskState& sight) {
  const Record& record = *sight.record;
  Record counted = record;
  counted.phase = Phase::trial;
  ++counted.attempts;
  counted.retryable = false;  // until the agent says that it only waits for the backend
  counted.reason.clear();
  return {.write = counted,
          .start = record.to,
          .start_uncounted = is_complete(sight, record.from) ? record.from : "",
          .deadline = record.deadline};
}

std::string many_ends(const DiskState& sight) {
  // It has said itself that it cannot stay.
  if (sight.record->attempts > kMostAttempts && !sight.record->reason.empty()) return sight.record->reason;
  return "it ended " + std::to_string(sight.record->attempts) + " times before it was healthy" +
         (sight.last_end.empty() ? "" : "; the last time: " + sight.last_end);
}

Decision on_trial(const DiskState& sight) {
  const Record& record = *sight.record;
  const bool has_way_back = is_complete(sight, record.from);
  if (sight.current == record.to) {
    if (record.attempts < kMostAttempts) return try_once_more(sight);
    if (has_way_back) return roll_back(record, many_ends(sight), false);
    return {.say = {"version " + record.version + " is not healthy, and the version before is not there"},
            .start = record.to};
  }
  if (sight.current && sight.current == record.from) {
    const bool never_ran = record.attempts == 0;
    return {
        .write = closed(record, never_ran ? Phase::failed : Phase::rolled_back,
                        never_ran ? "interrupted before the switch" : "'current' was switched back", true),
        .start = record.from};
  }
  // Somebody else's doing, or a disk's. The version that worked is the safe one.
  if (has_way_back) {
    Decision decision = roll_back(record, "'current' led neither to the old nor to the new version", true);
    decision.say.push_back(sight.current_problem);
    return decision;
  }
  if (is_complete(sight, record.to)) {
    Decision decision = try_once_more(sight);
    decision.switch_to = record.to;
    decision.say = {sight.current_problem, "the version before is not there: going on with the new one"};
    return decision;
  }
  return {};
}

// Closed, but killed before `current` was switched back; or the switch itself failed half-way.
bool must_go_back(const DiskState& sight) {
  if (!sight.record) return false;
  const Record& record = *sight.record;
  return (record.phase == Phase::rolled_back || record.phase == Phase::failed) &&
         sight.current == record.to && record.from != record.to && is_complete(sight, record.from);
}

// `current` leads nowhere: what the journal knows to have worked, else what was installed last.
Decision without_current(const DiskState& sight) {
  std::vector<std::string> wanted;
  if (sight.record && sight.record->phase == Phase::confirmed)
    wanted = {sight.record->to, sight.record->from};
  else if (sight.record)
    wanted = {sight.record->from, sight.record->to};
  wanted.insert(wanted.end(), sight.complete.begin(), sight.complete.end());
  for (const std::string& name : wanted)
    if (is_complete(sight, name))
      return {.say = {sight.current_problem, "falling back to " + name}, .switch_to = name, .start = name};
  return {
      .say = {sight.current_problem, "there is no version that could be started: install the agent anew"}};
}

}  // namespace

Decision decide(const DiskState& sight) {
  Decision decision;
  if (sight.record && is_on_trial(*sight.record)) decision = on_trial(sight);
  if (decision.start.empty()) {
    if (must_go_back(sight))
      decision = {.switch_to = sight.record->from, .start = sight.record->from};
    else if (sight.current)
      decision = {.start = *sight.current};
    else
      decision = without_current(sight);
  }
  if (!sight.journal_problem.empty())
    decision.say.insert(decision.say.begin(), sight.journal_problem + "; going on without it");
  return decision;
}

Decision decide_after_deadline(const DiskState& sight) {
  if (!sight.record || !is_on_trial(*sight.record) || sight.current != sight.record->to ||
      !is_complete(sight, sight.record->from))
    return decide(sight);
  const Record& record = *sight.record;
  // What the last one waited for excuses nothing when others have ended before it.
  const bool has_given_up = record.attempts > kMostAttempts;  // and has said why
  const bool has_ended_before = record.attempts > 1 && !has_given_up;
  std::string why = "it was not healthy within " + std::to_string(record.deadline.count()) + " s";
  if (has_ended_before)
    why += ", in " + std::to_string(record.attempts) + " starts" +
           (sight.last_end.empty() ? "" : "; the last one's end: " + sight.last_end);
  else if (!record.reason.empty())
    why += ": " + record.reason;
  return roll_back(record, why, record.retryable && !has_ended_before);
}

std::chrono::milliseconds Restarts::next() {
  const std::chrono::milliseconds now = pause_;
  pause_ = std::min(pause_ * 2, kLongest);
  return now;
}

AfterEnd Restarts::after(const AgentEnd& end) {
  if (end.ran >= kGoodRun) pause_ = kFirst;
  // It was asked for: however the agent took it, a service manager has nothing to put right.
  if (end.was_asked_to_stop) return {.end_with = 0};
  if (end.was_last_attempt) {
    pause_ = kFirst;
    return {};
  }
  // At once, but never twice within a second.
  if (end.status == kStartCurrent && (!was_at_once_ || end.ran >= kFirst)) {
    was_at_once_ = true;
    pause_ = kFirst;
    return {};
  }
  was_at_once_ = false;
  return {.wait = next()};
}

}  // namespace update::launcher
