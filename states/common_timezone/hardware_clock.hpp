// What the hardware clock keeps, UTC or local time, as the third line of /etc/adjtime says.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/tree/tree.hpp"
#include "states/context.hpp"
#include "states/programs/tool_sequence.hpp"

namespace states::common_timezone {

inline constexpr std::string_view kAdjtime = "/etc/adjtime";

// UTC where the file, or its third line, is missing.
base::Result<bool> clock_keeps_utc(base::Tree& tree);

// With systemd and a clock timedatectl does it, which tells the clock too; else only the file is written.
base::Result<void> set_clock(bool utc, programs::ToolSequence& tools, ApplyContext& context);

// The text of /etc/adjtime with another third line; the two before it are kept.
std::string adjtime_with(std::string_view text, bool utc);

}  // namespace states::common_timezone
