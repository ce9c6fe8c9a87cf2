#include "ctl/time_text.hpp"

#include <array>
#include <cstdio>

#include "base/text.hpp"
#include "base/utc_text.hpp"

namespace ctl {

namespace {

using std::chrono::milliseconds;

std::string format(const char* pattern, double value) {
  std::array<char, 32> text{};
  const int length = std::snprintf(text.data(), text.size(), pattern, value);
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace

Instant now() {
  return std::chrono::floor<milliseconds>(std::chrono::system_clock::now());
}

std::optional<Instant> parse_instant(std::string_view text) {
  const auto instant = base::parse_utc(text);
  if (!instant) return std::nullopt;
  return std::chrono::floor<milliseconds>(*instant);
}

std::optional<Instant> instant_of(const base::Value& value) {
  if (value.is_text()) return parse_instant(value.text());
  const auto number = value.as_integer();
  if (!number || *number <= 0) return std::nullopt;
  return Instant(milliseconds(*number));
}

std::string age_text(const base::Value& value, Instant now) {
  const auto instant = instant_of(value);
  if (!instant) return {};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - *instant).count();
  if (seconds < 2) return "just now";  // clocks differ a little
  if (seconds < 90) return std::to_string(seconds) + "s ago";
  if (seconds < 90 * 60) return std::to_string(seconds / 60) + "m ago";
  if (seconds < 36 * 3600) return std::to_string(seconds / 3600) + "h ago";
  return std::to_string(seconds / 86400) + "d ago";
}

std::string until_text(const base::Value& value, Instant now) {
  const auto instant = instant_of(value);
  if (!instant) return {};
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(*instant - now).count();
  if (seconds <= 0) return "now";
  if (seconds <= 90) return "in " + std::to_string(seconds) + "s";
  if (seconds <= 90 * 60) return "in " + std::to_string((seconds + 30) / 60) + "m";
  if (seconds <= 36 * 3600) return "in " + std::to_string((seconds + 1800) / 3600) + "h";
  return "in " + std::to_string((seconds + 43200) / 86400) + "d";
}

std::string duration_text(std::int64_t ms) {
  if (ms < 1000) return std::to_string(ms) + " ms";
  if (ms < 60'000) return format("%.1f s", static_cast<double>(ms) / 1000);
  return std::to_string(ms / 60'000) + "m " + std::to_string(ms / 1000 % 60) + "s";
}

base::Result<Instant> parse_since(std::string_view text, std::string_view option, Instant now) {
  if (const auto instant = parse_instant(text)) return *instant;
  const auto age = terminal::read_duration(text);
  if (!age)
    return base::Error(base::ErrorCode::invalid,
                       std::string(option) +
                           " must be an age like 90s, 10m, 2h, 7d or an instant like "
                           "2026-03-01T12:00:00Z, not '" +
                           std::string(text) + "'");
  return now - *age;
}

}  // namespace ctl
