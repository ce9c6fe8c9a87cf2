// What reports of an agent mean for its instance. Pure; one thread per object.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "backend/domain/model.hpp"
#include "backend/domain/placement/placement.hpp"

namespace backend::domain {

// Version 1 says only whether it went well.
std::string_view outcome_of(const protocol::StateLog& log);

// Reports outside the recipe (of a single run) say nothing about how far it has come.
bool is_of_recipe(const protocol::StateLog& log);

// ---- how much one instance may have stored

struct TableUse {
  std::uint64_t rows = 0, bytes = 0;
};
// Results, rounds and statuses each have a limit of their own: a flood of one kind removes no other.
struct ReportUse {
  TableUse results, rounds, statuses;
};
// 0: no limit. Beyond it the oldest of the instance's own make room. Nothing is refused: an honest agent
// would lose a report, and nobody else's history is touched.
using ReportQuota = ReportUse;

// So many results of so many bytes; of rounds and statuses a tenth.
ReportQuota report_quota(std::uint64_t results, std::uint64_t bytes);

// What a row takes besides its texts.
inline constexpr std::uint64_t kRowBytes = 128;

bool is_over(const TableUse& use, const TableUse& quota);
// The use without a row of so many bytes; what was counted otherwise before does not make it negative.
TableUse without_row(TableUse use, std::uint64_t bytes);

// ---- standings

// What is known about an instance when its reports are stored.
struct ReportTerms {
  // The states that it has, and under which version. Null: of all states and versions the standing is kept.
  std::shared_ptr<const StateList> states;
  std::int64_t recipe_version = 0;
  ReportQuota quota = {};
};

// Whether the result says how far a state of the instance's recipe has come. Of others it is history only: a
// state that no recipe of the machine has, a version that was never placed. A state that is still there
// counts also for an older version: the result came late.
bool has_standing(const protocol::StateLog& log, const ReportTerms& terms);

// What a batch of reports changes in the row of its instance. Each report that is new is taken once, in
// order; the row is written at the end. The reports must outlive this.
struct InstanceNews {
  std::int64_t reported_version = 0;  // at first that of the row
  bool has_status = false;
  std::string status, errors = "[]";          // with has_status; errors are JSON
  const protocol::RoundEnd* round = nullptr;  // the last one
  std::int64_t converged_version = 0;         // 0: none

  void take(const protocol::StateLog& log);
  void take(const protocol::RoundEnd& end);
  void take(const protocol::RecipeStatus& report);
  void take(const protocol::UpdateStatus&) {}  // is in the rows of rollouts
};

}  // namespace backend::domain
