#include "backend/domain/reports/report_rules.hpp"

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

ReportQuota report_quota(std::uint64_t results, std::uint64_t bytes) {
  constexpr std::uint64_t kShare = 10;
  const auto share = [](std::uint64_t limit) {
    return limit == 0 ? 0 : std::max<std::uint64_t>(1, limit / kShare);
  };
  const TableUse others{share(results), share(bytes)};
  return {.results = {results, bytes}, .rounds = others, .statuses = others};
}

bool is_over(const TableUse& use, const TableUse& quota) {
  return (quota.rows > 0 && use.rows > quota.rows) || (quota.bytes > 0 && use.bytes > quota.bytes);
}

TableUse without_row(TableUse use, std::uint64_t bytes) {
  use.rows -= std::min<std::uint64_t>(use.rows, 1);
  use.bytes -= std::min(use.bytes, bytes);
  return use;
}

bool has_standing(const protocol::StateLog& log, const ReportTerms& terms) {
  if (!is_of_recipe(log)) return false;
  if (!terms.states) return true;
  return log.recipe_version <= terms.recipe_version && terms.states->index.contains(log.id);
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
