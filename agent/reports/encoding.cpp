#include "agent/reports/encoding.hpp"

#include "base/utc_text.hpp"
#include "base/values/json.hpp"
#include "protocol/codec.hpp"

namespace agent::reports {

namespace {

// A report must fit into a message of every backend, with room for what is around it.
constexpr std::size_t kLargestReport = 1024 * 1024;
constexpr std::size_t kShortened = 64 * 1024;
constexpr std::size_t kLargestPlan = 3 * 1024 * 1024;
constexpr std::string_view kDiffLeftOut = "[left out: the plan is too large]\n";

std::int64_t milliseconds(std::chrono::microseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

std::vector<protocol::Change> to_protocol(const std::vector<states::Change>& changes) {
  std::vector<protocol::Change> all;
  all.reserve(changes.size());
  for (const states::Change& change : changes)
    all.push_back({change.what, change.before, change.after, change.diff});
  return all;
}

protocol::ChangeCause to_protocol(engine::Cause cause) {
  switch (cause) {
    case engine::Cause::none:
      return protocol::ChangeCause::none;
    case engine::Cause::new_recipe:
      return protocol::ChangeCause::new_recipe;
    case engine::Cause::drift:
      return protocol::ChangeCause::drift;
    case engine::Cause::trigger:
      return protocol::ChangeCause::trigger;
    case engine::Cause::refresh:
      return protocol::ChangeCause::refresh;
  }
  return protocol::ChangeCause::none;
}

// Not in the middle of a character.
void shorten(std::string& text) {
  if (text.size() <= kShortened) return;
  std::size_t end = kShortened;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  text.resize(end);
}

// What a text takes in a message: a control character is six bytes there, a byte that is no UTF-8 three.
std::size_t written_size(std::string_view text) {
  return base::json_quote(text).size();
}

// Of what is far too long, the beginnings. A report that no backend takes would be sent for ever, with all
// that is behind it.
void shorten(protocol::StateLog& log) {
  constexpr std::size_t kMostChanges = 200;
  std::size_t size = written_size(log.state_comment) + written_size(log.state_stdout.value_or(""));
  for (const protocol::Change& change : log.changes)
    for (const std::string* text : {&change.what, &change.before, &change.after, &change.diff})
      size += written_size(*text);
  if (size <= kLargestReport) return;
  log.truncated = true;
  shorten(log.state_comment);
  if (log.state_stdout) shorten(*log.state_stdout);
  if (log.changes.size() > kMostChanges) log.changes.resize(kMostChanges);
  for (protocol::Change& change : log.changes) {
    change.diff.clear();
    for (std::string* text : {&change.what, &change.before, &change.after})
      if (text->size() > 256) text->resize(256);
  }
}

// What a planned state takes in a message, its diffs left out.
std::size_t written_size(const protocol::PlannedState& state) {
  constexpr std::size_t kNames = 128;  // of fields, and what is between them
  std::size_t size = kNames + 2 * written_size(state.id) + state.module.size() + written_size(state.message);
  for (const protocol::Change& change : state.changes)
    size += kNames + written_size(change.what) + written_size(change.before) + written_size(change.after);
  return size;
}

// A plan is one message, and one that is too large would end the connection instead of being answered. Diffs
// are left out first, those at the end before those at the beginning.
void shorten(protocol::PlanResult& plan) {
  std::size_t size = 0;
  for (const protocol::PlannedState& state : plan.states)
    size += written_size(state);
  if (size > kLargestPlan) {
    plan.errors = {"The plan of " + std::to_string(plan.states.size()) +
                   " states is too large for a message: plan fewer at a time, or on the machine itself"};
    plan.states.clear();
    return;
  }
  for (protocol::PlannedState& state : plan.states)
    for (protocol::Change& change : state.changes) {
      if (change.diff.empty()) continue;
      const std::size_t diff = written_size(change.diff);
      if (size + diff > kLargestPlan)
        change.diff = kDiffLeftOut;
      else
        size += diff;
    }
}

}  // namespace

protocol::StateLog to_protocol(const engine::StateResult& result) {
  protocol::StateLog log{.recipe_version = result.version,
                         .id = result.id,
                         .state_result = engine::is_success(result.outcome) && !result.is_blocked,
                         .state_comment = result.comment,
                         .run_id = result.run_id,
                         .round = result.round,
                         .outcome = std::string(engine::outcome_name(result.outcome)),
                         .cause = to_protocol(result.cause),
                         .changes = to_protocol(result.changes),
                         .attempt = result.attempt,
                         .exit_code = result.exit_code,
                         .started = base::utc_text(result.started),
                         .duration_ms = milliseconds(result.duration),
                         .cpu_ms = milliseconds(result.cpu),
                         .max_rss_kb = result.max_rss_kb,
                         .truncated = result.truncated};
  // Null is for states that have no output by their nature.
  if (!result.module.starts_with("meta.") || !result.output.empty()) log.state_stdout = result.output;
  shorten(log);
  return log;
}

protocol::RoundEnd to_protocol(const engine::RoundEnd& end) {
  protocol::RoundEnd report{.run_id = end.run_id,
                            .recipe_version = end.version,
                            .round = end.round,
                            .not_reached = end.not_reached,
                            .duration_ms = milliseconds(end.duration),
                            .drift = end.drift};
  for (std::size_t i = 0; i < engine::kOutcomes; ++i)
    if (end.counts[i] > 0)
      report.counts[std::string(engine::outcome_name(static_cast<engine::Outcome>(i)))] = end.counts[i];
  return report;
}

protocol::PlanResult to_protocol(const engine::PlanResult& plan) {
  protocol::PlanResult result{.recipe_version = plan.version};
  for (const engine::PlannedState& state : plan.states)
    result.states.push_back(
        {.id = state.id,
         .module = state.module,
         .verdict = state.skipped ? "skipped" : std::string(engine::verdict_name(state.verdict)),
         .message = state.message,
         .changes = to_protocol(state.changes)});
  shorten(result);
  return result;
}

std::optional<Spool::Entry> Reports::encode(const engine::Event& event) const {
  if (const auto* result = std::get_if<engine::StateResult>(&event)) {
    const bool is_calm =
        (result->outcome == engine::Outcome::kept || result->outcome == engine::Outcome::skipped) &&
        !result->is_blocked;
    // What was asked for by itself is always answered.
    const bool is_ad_hoc = result->version == 0;
    // The first round of a recipe tells everything: others may wait for what was right already.
    const bool is_known = result->round > 1 && !result->is_news;
    if (is_calm && !is_ad_hoc && is_known && changes_only_.load(std::memory_order_relaxed))
      return std::nullopt;
    return to_entry(to_protocol(*result), is_calm && !is_ad_hoc ? Importance::kept : Importance::normal);
  }
  if (const auto* started = std::get_if<engine::RoundStarted>(&event))
    if (auto status = status_at_start_(*started)) return to_entry(std::move(*status));
  // Of a round that could not begin the status of the recipe tells.
  if (const auto* end = std::get_if<engine::RoundEnd>(&event); end && end->problem.empty())
    return to_entry(to_protocol(*end));
  return std::nullopt;
}

Spool::Entry to_entry(protocol::AgentBody body, Importance importance) {
  return {.importance = importance,
          .key = {},
          .payload = protocol::encode(protocol::AgentMessage{std::move(body)})};
}

base::Result<protocol::AgentBody> from_payload(std::string_view payload) {
  auto message = protocol::parse_agent_message(payload);
  if (!message) return std::move(message).error().with_context("a report in the spool");
  // An agent that measured otherwise may have left one that no backend takes.
  if (auto* log = std::get_if<protocol::StateLog>(&message->body); log && payload.size() > kLargestReport)
    shorten(*log);
  return std::move(message->body);
}

}  // namespace agent::reports
