// What a command of linux.cmd runs in: who, where, with which environment. The same for its guards.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/programs/process.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "states/context.hpp"
#include "states/linux_cmd/params.hpp"
#include "states/runners/run_as.hpp"

namespace states::linux_cmd {

// Whose links count as the agent's own: those of the user that the command runs as.
std::optional<uid_t> whose(const runners::Runner& runner);

// `text` for the shell, with its surroundings. `folder` gets the working directory, opened, and must live
// until the command has been run.
base::Result<base::Command> command_in(std::string cwd, std::string_view text, const Params& params,
                                       const runners::Runner& runner, Context& context,
                                       base::UniqueFd& folder);

}  // namespace states::linux_cmd
