// Instants of the API (RFC 3339, or milliseconds since 1970) as people say them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/values/value.hpp"
#include "terminal/duration.hpp"

namespace ctl {

using Instant = std::chrono::sys_time<std::chrono::milliseconds>;

Instant now();

// "2026-03-01T12:00:00Z", with a fraction and another offset too; nothing when it is no instant.
std::optional<Instant> parse_instant(std::string_view text);
std::optional<Instant> instant_of(const base::Value& value);

// "just now", "40s ago", "3m ago", "5h ago", "12d ago"; "" without an instant.
std::string age_text(const base::Value& value, Instant now);

// "in 40s", "in 15m", "in 12d", of an instant to come; "now" of one that has passed; "" without one.
std::string until_text(const base::Value& value, Instant now);

// "850 ms", "2.1 s", "3m 20s"
std::string duration_text(std::int64_t milliseconds);

using terminal::parse_duration;

// "10m" or an instant: when that was. The error names the option.
base::Result<Instant> parse_since(std::string_view text, std::string_view option, Instant now);

}  // namespace ctl
