// How many states of a plan have which verdict.
#pragma once

#include "agent/engine/messages.hpp"

namespace agent::cli {

struct PlanCounts {
  std::size_t change = 0;
  std::size_t unknown = 0;
  std::size_t fail = 0;
  std::size_t kept = 0;
  std::size_t skipped = 0;

  // As exit statuses of `opsagent plan`.
  int exit_status() const { return fail > 0 ? 1 : change + unknown > 0 ? 2 : 0; }
};

PlanCounts count(const engine::PlanResult& plan);

}  // namespace agent::cli
