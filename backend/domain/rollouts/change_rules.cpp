#include "backend/domain/rollouts/change_rules.hpp"

#include <algorithm>
#include <array>

namespace backend::domain {

namespace {

constexpr std::array<std::string_view, 3> kBadOutcomes{"failed", "timed_out", "cancelled"};

bool is_bad(std::string_view outcome) {
  return std::ranges::find(kBadOutcomes, outcome) != kBadOutcomes.end();
}

// Of the version that the machine was given, or of a later one that it was given since.
bool is_given(const ChangeEvidence& evidence, std::int64_t version) {
  return version >= evidence.given_version && version <= evidence.recipe_version;
}

}  // namespace

std::optional<ChangeVerdict> judge_change(const ChangeEvidence& evidence,
                                          const std::set<std::string, std::less<>>& own_states) {
  const StateStanding* other = nullptr;  // fails, and is of another recipe
  std::size_t done = 0;
  for (const StateStanding& state : evidence.states) {
    const bool is_own = own_states.empty() || own_states.contains(state.state_id);
    if (is_own && is_given(evidence, state.done_version)) ++done;
    if (!is_bad(state.outcome) || !is_given(evidence, state.recipe_version)) continue;
    if (is_own) return ChangeVerdict{std::string(kFailed), "state '" + state.state_id + "' " + state.outcome};
    other = &state;
  }
  const bool has_answered = is_given(evidence, evidence.reported_version);
  if (has_answered && evidence.status == "rejected")
    return ChangeVerdict{std::string(kRefused), evidence.error.empty() ? "rejected" : evidence.error};
  if (has_answered && evidence.status == "failed" && !other)
    return ChangeVerdict{std::string(kFailed), evidence.error.empty() ? "failed" : evidence.error};
  if (evidence.phase == kConfirmed) return std::nullopt;

  const bool has_converged =
      is_given(evidence, evidence.converged_version) && evidence.converged_at >= evidence.told;
  // A round that was reached as a whole, and in which none of the states failed that this is about.
  const bool has_round = is_given(evidence, evidence.round_version) && evidence.round_at >= evidence.told;
  const bool has_whole_round = has_round && evidence.not_reached == 0;
  // The round ended early, by another recipe's fault, after all states of this one.
  const bool are_all_done =
      (has_round || evidence.is_version_1) && !own_states.empty() && done == own_states.size();
  if (has_converged || has_whole_round || are_all_done) return ChangeVerdict{std::string(kConfirmed), ""};
  if (!other) return std::nullopt;
  std::string words = "says nothing of this: state '" + other->state_id + "' of another recipe " +
                      other->outcome + ", and the round ended there";
  if (words == evidence.noted) return std::nullopt;
  return ChangeVerdict{evidence.phase, std::move(words)};
}

std::string name_of_change(const HeldChange& change) {
  if (change.assignment != 0) return "assignment " + std::to_string(change.assignment);
  if (change.layer != 0) return "variables " + std::to_string(change.layer);
  return change.recipe + "@" + std::to_string(change.to_revision);
}

}  // namespace backend::domain
