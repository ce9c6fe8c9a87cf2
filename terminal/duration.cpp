#include "terminal/duration.hpp"

#include <array>
#include <cstdint>
#include <string>

#include "base/text.hpp"

namespace terminal {

std::optional<std::chrono::seconds> read_duration(std::string_view text) {
  constexpr std::string_view kUnits = "smhd";
  constexpr std::array<std::int64_t, 4> kSeconds{1, 60, 3600, 86400};
  const std::size_t unit = text.empty() ? std::string_view::npos : kUnits.find(text.back());
  const auto number = base::parse_integer(text.substr(0, text.empty() ? 0 : text.size() - 1));
  if (unit == std::string_view::npos || !number || *number < 0 || *number > 1'000'000) return std::nullopt;
  return std::chrono::seconds(*number * kSeconds[unit]);
}

base::Result<std::chrono::seconds> parse_duration(std::string_view text, std::string_view option) {
  const auto duration = read_duration(text);
  if (duration && duration->count() > 0) return *duration;
  return base::Error(
      base::ErrorCode::invalid,
      std::string(option) + " must be a time like 90s, 15m, 2h, 7d, not '" + std::string(text) + "'");
}

}  // namespace terminal
