// The guards of linux.cmd that name paths: `creates`, `removes`, `if-path-present`, `if-path-absent`.
#pragma once

#include <optional>

#include "states/context.hpp"
#include "states/linux_cmd/params.hpp"
#include "states/plan.hpp"

namespace states::linux_cmd {

// The plan to do nothing, when one of them says so; `unknown` when that depends on an earlier state; `fail`
// when a path cannot be looked at. Nothing: the command may run, as far as paths go.
std::optional<Plan> held_back_by_paths(const Params& params, std::optional<uid_t> whose, Context& context);

}  // namespace states::linux_cmd
