#include "backend/fleet/peer_log.hpp"

#include "base/text.hpp"

namespace backend::fleet {

void PeerLog::write(terminal::LogLevel level, const std::string& who, std::string_view text,
                    domain::Millis now) {
  if (!log_.writes(level) || !limit_.take(who, now)) return;
  std::string line = base::cut_text(text, kLongestLine);
  if (const std::uint64_t missed = limit_.take_missed(who); missed > 0)
    line += " (" + std::to_string(missed) + " lines before it were left out)";
  log_.write(level, line);
}

void PeerLog::tell_missed() {
  std::size_t told = 0;
  std::uint64_t others = 0;
  for (const auto& [who, missed] : limit_.take_all_missed()) {
    if (++told > kMostTold)
      others += missed;
    else
      log_.warning(std::to_string(missed) + " more lines about the agent " + who + " were left out");
  }
  if (others > 0)
    log_.warning(std::to_string(others) + " more lines about " + std::to_string(told - kMostTold) +
                 " other agents were left out");
}

}  // namespace backend::fleet
