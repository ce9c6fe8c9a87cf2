// A plan, and single changes, as people read them.
#pragma once

#include <string>
#include <vector>

#include "agent/cli/output/plan_counts.hpp"
#include "agent/engine/messages.hpp"
#include "terminal/console.hpp"

namespace agent::cli {

// A block for one planned state; ends with a newline.
std::string plan_block(const engine::PlannedState& state, const terminal::Paint& paint);

// One line for one that is kept or skipped.
std::string kept_line(const engine::PlannedState& state, const terminal::Paint& paint);

// The changes, indented, with their diffs.
std::string changes_text(const std::vector<states::Change>& changes, const terminal::Paint& paint);

// "+" for what appears, "-" for what disappears, "~" for the rest.
char change_symbol(const std::vector<states::Change>& changes);

// For the top of a plan that somebody else than root has made.
std::string not_root_line(const std::string& user, const terminal::Paint& paint);

// "Plan: 2 to change, 1 not known yet, 7 kept."
std::string counts_line(const PlanCounts& counts, const terminal::Paint& paint);

}  // namespace agent::cli
