// `changed_when` of linux.cmd: which endings of a command count as a change. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/programs/process.hpp"
#include "base/result.hpp"
#include "states/param.hpp"
#include "states/plan.hpp"

namespace states::linux_cmd {

// Read from the entries of a recipe, which must live as long: "never" (or "false"), a number (an exit
// status), any other text (the output contains it; with "output:" in front one that would mean something
// else).
struct ChangedWhen {
  bool never = false;
  std::vector<int> statuses{};
  std::vector<std::string_view> texts{};

  bool is_given() const { return never || !statuses.empty() || !texts.empty(); }
  Plan::Counts counts() const {
    return never ? Plan::Counts::never : is_given() ? Plan::Counts::by_outcome : Plan::Counts::always;
  }
};
base::Result<ChangedWhen> read_changed_when(List entries);

enum class Ended { failed, changed, unchanged };
// `output`: without escape sequences. Of one that was cut, what was not found may have been in the rest: that
// counts as a change.
Ended judge_ending(const ChangedWhen& when, const base::Completed& completed, std::string_view output);

}  // namespace states::linux_cmd
