// PeerLog: lines of the log that peers cause, or whose words are in them. Each peer has so many, and no line
// is long: whoever has a connection must not be able to fill a disk, or to push what others did out of sight.
// Those that are left out are counted, and a line says how many. Belongs to the loop's thread.
#pragma once

#include <string>
#include <string_view>

#include "backend/domain/limits/rate_limit.hpp"
#include "terminal/log.hpp"

namespace backend::fleet {

class PeerLog {
 public:
  explicit PeerLog(terminal::Log& log) : log_(log) {}

  // `who`: to whom the line is counted, as it proved or where it comes from. `now` as RateLimit has it.
  void write(terminal::LogLevel level, const std::string& who, std::string_view text, domain::Millis now);
  // Every so often: what was left out, and no later line has told of.
  void tell_missed();

 private:
  // An honest machine that is refused comes every half minute.
  static constexpr domain::RateLimit::Limits kLines{.at_once = 50, .per_second = 0.2, .keys = 4096};
  static constexpr std::size_t kLongestLine = 1024;
  // At once, of tell_missed(): the rest of them share a line.
  static constexpr std::size_t kMostTold = 20;

  terminal::Log& log_;
  domain::RateLimit limit_{kLines};
};

}  // namespace backend::fleet
