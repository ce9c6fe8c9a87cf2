// How a command of a recipe is handed to its shell.
#pragma once

#include <string_view>

#include "base/programs/process.hpp"
#include "states/context.hpp"

namespace states::programs {

// Sets `argv`, and `script` where that is needed: `<shell> -c <text>`, as everybody would write it. But what
// a process is given as arguments everybody on the machine can see. So a command of a sensitive state, and
// one that has a secret of the recipe in it, is handed over as a file in memory: `<shell> /proc/self/fd/3`.
void set_shell_command(base::Command& command, std::string_view shell, std::string_view text,
                       const Context& context);

}  // namespace states::programs
