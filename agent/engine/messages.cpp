#include "agent/engine/messages.hpp"

#include "base/token.hpp"

namespace agent::engine {

namespace {

std::size_t weight_of(const std::vector<states::Change>& changes) {
  std::size_t sum = 0;
  for (const states::Change& change : changes)
    sum +=
        sizeof change + change.what.size() + change.before.size() + change.after.size() + change.diff.size();
  return sum;
}

struct Weigh {
  std::size_t operator()(const StateResult& result) const {
    return result.output.size() + result.comment.size() + weight_of(result.changes);
  }
  std::size_t operator()(const StateOutput& output) const { return output.data.size(); }
  std::size_t operator()(const PlanResult& planned) const {
    std::size_t sum = 0;
    for (const PlannedState& state : planned.states)
      sum += sizeof state + state.message.size() + weight_of(state.changes);
    return sum;
  }
  template <class Small>
  std::size_t operator()(const Small&) const {
    return 0;
  }
};

}  // namespace

std::size_t weight(const Event& event) {
  return sizeof event + std::visit(Weigh(), event);
}

std::string new_run_id() {
  constexpr std::size_t kBytes = 7;  // their digits fit into a std::string itself
  return base::random_hex(kBytes);
}

std::string report_key(const RunRound& begun_in, std::size_t index) {
  return begun_in.run_id + "/" + std::to_string(begun_in.round) + "/" + std::to_string(index);
}

const StateResult* as_worked(const Event& event) {
  const auto* result = std::get_if<StateResult>(&event);
  return result && (result->outcome != Outcome::kept || result->is_journalled) ? result : nullptr;
}

RunRound journalled_in(const StateResult& result) {
  return result.begun_in.value_or(RunRound{result.run_id, result.round});
}

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kept:
      return "kept";
    case Outcome::changed:
      return "changed";
    case Outcome::failed:
      return "failed";
    case Outcome::skipped:
      return "skipped";
    case Outcome::cancelled:
      return "cancelled";
    case Outcome::timed_out:
      return "timed_out";
  }
  return "failed";
}

bool is_success(Outcome outcome) {
  return outcome == Outcome::kept || outcome == Outcome::changed || outcome == Outcome::skipped;
}

std::string_view cause_name(Cause cause) {
  switch (cause) {
    case Cause::none:
      return "";
    case Cause::new_recipe:
      return "new recipe";
    case Cause::drift:
      return "drift";
    case Cause::trigger:
      return "trigger";
    case Cause::refresh:
      return "refresh";
  }
  return "";
}

std::string_view verdict_name(states::Verdict verdict) {
  switch (verdict) {
    case states::Verdict::kept:
      return "kept";
    case states::Verdict::change:
      return "change";
    case states::Verdict::fail:
      return "fail";
    case states::Verdict::unknown:
      return "unknown";
  }
  return "fail";
}

}  // namespace agent::engine
