#include "backend/domain/report_rules.hpp"

#include <algorithm>
#include <span>

#include "backend/domain/json_text.hpp"

namespace backend::domain {

std::string_view outcome_of(const protocol::StateLog& log) {
  return log.outcome.empty() && !log.state_result ? std::string_view("failed") : log.outcome;
}

bool is_of_recipe(const protocol::StateLog& log) {
  return log.recipe_version != 0;
}

void InstanceNews::take(const protocol::StateLog& log) {
  if (!is_of_recipe(log) || log.seq || log.recipe_version < reported_version) return;
  // Version 1 has no seq and no RecipeStatus: this is all that is known.
  has_status = true;
  reported_version = log.recipe_version;
  status = log.state_result ? "running" : "failed";
  errors = log.state_result ? "[]" : to_json(std::span(&log.state_comment, 1));
}

void InstanceNews::take(const protocol::RoundEnd& end) {
  round = &end;
  if (is_whole(end)) converged_version = std::max(converged_version, end.recipe_version);
}

void InstanceNews::take(const protocol::RecipeStatus& report) {
  if (report.status == protocol::RecipeProgress::converged)
    converged_version = std::max(converged_version, report.recipe_version);
  // "superseded" is about the recipe before this one, and may come after the new one's "accepted".
  if (report.recipe_version < reported_version) return;
  has_status = true;
  reported_version = report.recipe_version;
  status = progress_name(report.status);
  errors = to_json(report.errors);
}

}  // namespace backend::domain
