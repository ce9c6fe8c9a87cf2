#include "backend/domain/access/pauses.hpp"

#include <algorithm>
#include <chrono>

#include "backend/domain/access/instants.hpp"
#include "base/utc_text.hpp"

namespace backend::domain {

void add_pause(base::JsonText& json, const Pause& pause, Millis now) {
  json.key("pause");
  if (!pause.is_on(now)) {
    json.null();
    return;
  }
  json.begin_object().member("by", pause.by).member("reason", pause.reason);
  add_instant(json, "since", pause.since);
  add_instant(json, "until", pause.until);
  json.end_object();
}

std::string pause_text(const Pause& pause) {
  std::string text =
      "paused by " + pause.by + " until " +
      base::utc_text(std::chrono::system_clock::time_point(std::chrono::milliseconds(pause.until)));
  if (!pause.reason.empty()) text += ": " + pause.reason;
  return text;
}

std::vector<protocol::MachineHold> holds_now(const Instance& instance, bool online, Millis now) {
  std::vector<protocol::MachineHold> holds = instance.said_holds;
  if (online) return holds;
  std::erase_if(holds, [&](const protocol::MachineHold& hold) {
    const auto until = base::parse_utc(hold.until);
    return !until ||
           std::chrono::duration_cast<std::chrono::milliseconds>(until->time_since_epoch()).count() <= now;
  });
  return holds;
}

}  // namespace backend::domain
