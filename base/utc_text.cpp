#include "base/utc_text.hpp"

#include <algorithm>
#include <array>
#include <ctime>

#include "base/text.hpp"

namespace base {

std::string utc_text(std::chrono::system_clock::time_point when) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(when.time_since_epoch()).count();
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string fraction = std::to_string(1000 + ms % 1000);
  return std::string(text.data(), length) + "." + fraction.substr(1) + "Z";
}

std::string utc_now() {
  return utc_text(std::chrono::system_clock::now());
}

std::optional<std::chrono::system_clock::time_point> parse_utc(std::string_view text) {
  namespace chrono = std::chrono;
  // Digits where `pattern` has a 0, itself elsewhere ('t' and blank pass for the T).
  constexpr std::string_view kPattern = "0000-00-00T00:00:00";
  if (text.size() <= kPattern.size()) return std::nullopt;
  for (std::size_t i = 0; i < kPattern.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    const bool fits = kPattern[i] == '0'   ? is_digit
                      : kPattern[i] == 'T' ? text[i] == 'T' || text[i] == 't' || text[i] == ' '
                                           : text[i] == kPattern[i];
    if (!fits) return std::nullopt;
  }
  const auto number = [&](std::size_t at, std::size_t length) {
    return static_cast<int>(parse_integer(text.substr(at, length)).value_or(0));
  };
  const chrono::year_month_day day(chrono::year(number(0, 4)),
                                   chrono::month(static_cast<unsigned>(number(5, 2))),
                                   chrono::day(static_cast<unsigned>(number(8, 2))));
  // The clock counts nanoseconds, and has an end in 2262. Some room is left for those who calculate with it.
  constexpr chrono::year kFirst{1700}, kLast{2200};
  if (day.year() < kFirst || day.year() > kLast) return std::nullopt;
  if (!day.ok() || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 60) return std::nullopt;
  chrono::milliseconds time =
      chrono::hours(number(11, 2)) + chrono::minutes(number(14, 2)) + chrono::seconds(number(17, 2));

  std::string_view rest = text.substr(kPattern.size());
  if (rest.front() == '.') {
    const std::size_t end = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
    if (end < 2) return std::nullopt;
    int scale = 100;
    for (std::size_t i = 1; i < end && scale > 0; ++i, scale /= 10)
      time += chrono::milliseconds((rest[i] - '0') * scale);
    rest.remove_prefix(end);
  }
  if (rest == "Z" || rest == "z") return chrono::sys_days(day) + time;
  const bool is_offset = rest.size() == 6 && (rest[0] == '+' || rest[0] == '-') && rest[3] == ':';
  const auto hours = is_offset ? parse_integer(rest.substr(1, 2)) : std::nullopt;
  const auto minutes = is_offset ? parse_integer(rest.substr(4, 2)) : std::nullopt;
  if (!hours || !minutes || *hours < 0 || *hours > 23 || *minutes < 0 || *minutes > 59) return std::nullopt;
  const auto offset = chrono::hours(*hours) + chrono::minutes(*minutes);
  return chrono::sys_days(day) + time + (rest[0] == '+' ? -offset : offset);
}

}  // namespace base
