#include "agent/runtime/progress.hpp"

#include "base/utc_text.hpp"

namespace agent::runtime {

namespace {

bool has_failed(const engine::RoundEnd& end) {
  for (std::size_t i = 0; i < engine::kOutcomes; ++i)
    if (end.counts[i] > 0 && !engine::is_success(static_cast<engine::Outcome>(i))) return true;
  return false;
}

}  // namespace

std::optional<protocol::RecipeStatus> Progress::on_worker_event(const engine::Event& event, Instant now) {
  if (const auto* started = std::get_if<engine::RoundStarted>(&event)) {
    run_id_ = started->run_id;
    round_ = started->round;
    next_round_.reset();
    // The spool has heard of it from the committer, in its place before the first result.
    if (started->round == 1)
      (void)change_to(moved_to_.value_or(started->version), protocol::RecipeProgress::running);
  } else if (const auto* state = std::get_if<engine::StateStarted>(&event)) {
    running_ = {state->id, base::utc_text(now)};
  } else if (const auto* result = std::get_if<engine::StateResult>(&event)) {
    if (running_ && running_->id == result->id) running_.reset();
  } else if (const auto* end = std::get_if<engine::RoundEnd>(&event)) {
    running_.reset();
    last_round_ = {*end, now};
    if (end->next) next_round_ = now + *end->next;
    const std::int64_t version = moved_to_.value_or(end->version);
    if (has_failed(*end)) return change_to(version, protocol::RecipeProgress::failed);
    if (end->not_reached == 0) return change_to(version, protocol::RecipeProgress::converged);
  }
  return std::nullopt;
}

std::optional<protocol::RecipeStatus> Progress::move_to(std::int64_t version) {
  moved_to_ = version;
  if (status_ != protocol::RecipeProgress::converged && status_ != protocol::RecipeProgress::failed)
    return std::nullopt;  // a round is under way, and its end tells
  return change_to(version, *status_);
}

std::optional<protocol::RecipeStatus> Progress::change_to(std::int64_t version,
                                                          protocol::RecipeProgress status) {
  if (version_ == version && status_ == status) return std::nullopt;
  version_ = version;
  status_ = status;
  return protocol::RecipeStatus{.recipe_version = version, .status = status};
}

std::string counts_text(const engine::RoundEnd& end) {
  std::string text;
  for (std::size_t i = 0; i < engine::kOutcomes; ++i)
    if (end.counts[i] > 0)
      text += (text.empty() ? "" : ", ") + std::to_string(end.counts[i]) + " " +
              std::string(engine::outcome_name(static_cast<engine::Outcome>(i)));
  if (end.not_reached > 0)
    text += (text.empty() ? "" : ", ") + std::to_string(end.not_reached) + " not reached";
  return text.empty() ? "nothing to do" : text;
}

}  // namespace agent::runtime
