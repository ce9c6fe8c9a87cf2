// Instants as text.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace base {

// RFC 3339 in UTC with milliseconds: "2026-03-01T12:00:00.000Z".
std::string utc_text(std::chrono::system_clock::time_point when);

// The same for now.
std::string utc_now();

// RFC 3339 back to an instant, with any fraction and offset. Nothing when it is not that.
std::optional<std::chrono::system_clock::time_point> parse_utc(std::string_view text);

}  // namespace base
