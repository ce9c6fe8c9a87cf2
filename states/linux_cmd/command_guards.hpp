// The guards of linux.cmd that are commands: `only_if` and `unless`.
//
// They look and change nothing: they run in a read-only view of the machine, without a network unless the
// recipe says otherwise (`guard_view`), in a plan and in a run alike. So both come to the same.
#pragma once

#include <chrono>
#include <string>
#include <variant>

#include "states/context.hpp"
#include "states/linux_cmd/params.hpp"
#include "states/plan.hpp"
#include "states/runners/run_as.hpp"

namespace states::linux_cmd {

// How long one guard may take; never longer than the state.
inline constexpr std::chrono::seconds kGuardTime{60};

// What a recipe may say for `guard_view`.
inline constexpr std::string_view kViewOffline = "offline";
inline constexpr std::string_view kViewNetwork = "network";
inline constexpr std::string_view kViewAll = "all";

// The plan to do nothing, when they hold the command back; `unknown` when they cannot be asked before earlier
// states have happened, or cannot be asked in a plan at all; `fail` when one of them comes to no answer. Else
// why the command is to run, for its message: empty without guards that are commands.
std::variant<Plan, std::string> held_back_by_commands(const Params& params, const runners::Runner& runner,
                                                      Context& context);

}  // namespace states::linux_cmd
