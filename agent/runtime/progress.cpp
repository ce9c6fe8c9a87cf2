#include "agent/runtime/progress.hpp"

#include "base/utc_text.hpp"

namespace agent::runtime {

using protocol::RecipeProgress;

namespace {

bool has_failed(const engine::RoundEnd& end) {
  for (std::size_t i = 0; i < engine::kOutcomes; ++i)
    if (end.counts[i] > 0 && !engine::is_success(static_cast<engine::Outcome>(i))) return true;
  return false;
}

// What the end of a round says about the recipe as a whole; nothing if it did not get to its end.
std::optional<RecipeProgress> result_of(const engine::RoundEnd& end) {
  if (has_failed(end)) return RecipeProgress::failed;
  if (end.not_reached == 0) return RecipeProgress::converged;
  return std::nullopt;
}

}  // namespace

void Progress::resume(std::string run_id) {
  run_id_ = std::move(run_id);
  errors_.clear();
  told_.reset();
}

std::vector<Progress::Status> Progress::take(std::string run_id, std::int64_t version,
                                             std::optional<std::int64_t> before) {
  std::vector<Status> statuses;
  if (before && *before != version)
    statuses.push_back({.recipe_version = *before, .status = RecipeProgress::superseded});
  run_id_ = std::move(run_id);
  errors_.clear();
  told_ = Status{.recipe_version = version, .status = RecipeProgress::accepted};
  statuses.push_back(*told_);
  return statuses;
}

Progress::Status Progress::reject(std::int64_t version, std::vector<std::string> errors) {
  return {.recipe_version = version, .status = RecipeProgress::rejected, .errors = std::move(errors)};
}

std::vector<Progress::Status> Progress::set_errors(std::int64_t version, std::vector<std::string> errors) {
  errors_ = std::move(errors);
  return told_ ? tell(version, told_->status) : std::vector<Status>();
}

std::vector<Progress::Status> Progress::move_to(std::int64_t version) {
  const bool has_result =
      told_ && (told_->status == RecipeProgress::converged || told_->status == RecipeProgress::failed);
  return has_result ? tell(version, told_->status) : std::vector<Status>();
}

std::optional<Progress::Status> Progress::status_at_start(const engine::RoundStarted& started) {
  if (started.round != 1) return std::nullopt;
  return Status{.recipe_version = started.version, .status = RecipeProgress::running};
}

std::vector<Progress::Status> Progress::on_worker_event(const engine::Event& event, Instant now,
                                                        std::optional<std::int64_t> version) {
  if (const auto* started = std::get_if<engine::RoundStarted>(&event)) {
    next_round_.reset();
    held_up_by_.clear();
    // The committer has told it.
    if (auto status = status_at_start(*started); status && started->run_id == run_id_)
      told_ = std::move(status);
  } else if (const auto* notice = std::get_if<engine::Notice>(&event)) {
    using HoldsUp = engine::Notice::HoldsUp;
    if (notice->holds_up == HoldsUp::no) return {};
    held_up_by_ = notice->text;
    // Before anything was told of the recipe: that it is there, at least.
    if (notice->holds_up == HoldsUp::for_long && version)
      return tell(*version, told_ ? told_->status : RecipeProgress::accepted, held_up_by_);
  } else if (const auto* state = std::get_if<engine::StateStarted>(&event)) {
    held_up_by_.clear();
    running_ = {state->id, base::utc_text(now)};
  } else if (const auto* result = std::get_if<engine::StateResult>(&event)) {
    held_up_by_.clear();
    if (running_ && running_->id == result->id) running_.reset();
  } else if (const auto* end = std::get_if<engine::RoundEnd>(&event)) {
    running_.reset();
    held_up_by_ = end->problem;
    if (end->next) next_round_ = now + *end->next;
    if (!end->problem.empty())
      return version && end->run_id == run_id_ ? tell(*version, RecipeProgress::failed, end->problem)
                                               : std::vector<Status>();
    last_round_ = {*end, now};
    const auto progress = result_of(*end);
    if (progress && version && end->run_id == run_id_) return tell(*version, *progress);
  }
  return {};
}

std::vector<Progress::Status> Progress::tell(std::int64_t version, RecipeProgress progress,
                                             const std::string& problem) {
  Status status{.recipe_version = version, .status = progress, .errors = errors_};
  if (!problem.empty()) status.errors.push_back(problem);
  if (told_ == status) return {};
  told_ = status;
  return {std::move(status)};
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
