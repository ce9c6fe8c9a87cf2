// Completion scripts for shells, from the rows of a table. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "terminal/command_table.hpp"

namespace terminal {

inline constexpr std::string_view kCompletionShells = "bash zsh fish";

// The script for one of these shells.
base::Result<std::string> completion_script(const CommandTable& table, std::string_view shell);

}  // namespace terminal
