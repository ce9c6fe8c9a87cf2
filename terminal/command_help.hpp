// Help and the reference page, from the rows of a table. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "terminal/command_table.hpp"

namespace terminal {

// The text of `PROGRAM --help` (null) or of `PROGRAM COMMAND --help`.
std::string help_text(const CommandTable& table, const CommandRow* command);

// The commands that start with a word, "recipe"; empty when none does.
std::string group_help(const CommandTable& table, std::string_view group);

// The options of Scope::every and then all commands, as sections of a page in Markdown.
std::string reference_sections(const CommandTable& table);

}  // namespace terminal
