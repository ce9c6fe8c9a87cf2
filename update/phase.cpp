#include <algorithm>
#include <array>

#include "update/journal.hpp"

namespace update {

namespace {

struct PhaseName {
  Phase phase;
  std::string_view name;
};

constexpr std::array kNames{
    PhaseName{Phase::requested, "requested"},
    PhaseName{Phase::metadata, "metadata"},
    PhaseName{Phase::downloading, "downloading"},
    PhaseName{Phase::verifying, "verifying"},
    PhaseName{Phase::staged, "staged"},
    PhaseName{Phase::draining, "draining"},
    PhaseName{Phase::armed, "armed"},
    PhaseName{Phase::switched, "switched"},
    PhaseName{Phase::restarting, "restarting"},
    PhaseName{Phase::trial, "trial"},
    PhaseName{Phase::confirmed, "confirmed"},
    PhaseName{Phase::rolled_back, "rolled_back"},
    PhaseName{Phase::failed, "failed"},
    PhaseName{Phase::refused, "refused"},
};

}  // namespace

std::string_view name_of(Phase phase) {
  return std::ranges::find(kNames, phase, &PhaseName::phase)->name;
}

std::optional<Phase> phase_of(std::string_view name) {
  const auto found = std::ranges::find(kNames, name, &PhaseName::name);
  return found == kNames.end() ? std::nullopt : std::optional(found->phase);
}

bool is_closed(Phase phase) {
  return phase >= Phase::confirmed;
}

bool is_on_trial(const Record& record) {
  return record.phase >= Phase::armed && record.phase <= Phase::trial;
}

}  // namespace update
