// Lengths of time as people give them to a command.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace terminal {

// "90s", "15m", "2h", "7d", also 0 of them; nothing for anything else.
std::optional<std::chrono::seconds> read_duration(std::string_view text);

// The same, and more than nothing. The error names the option.
base::Result<std::chrono::seconds> parse_duration(std::string_view text, std::string_view option);

}  // namespace terminal
