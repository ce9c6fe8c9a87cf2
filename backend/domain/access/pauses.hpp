// Pauses and holds as people and programs are shown them. Pure.
#pragma once

#include <string>
#include <vector>

#include "backend/domain/model.hpp"
#include "base/values/json_text.hpp"

namespace backend::domain {

// "pause": {by, reason, since, until}, or null when there is none now.
void add_pause(base::JsonText& json, const Pause& pause, Millis now);
// "paused by alice until 2026-03-01T12:00:00.000Z: incident 7"
std::string pause_text(const Pause& pause);
// What the machine says it is held by. Of one that is not connected: as far as it can be so still.
std::vector<protocol::MachineHold> holds_now(const Instance& instance, bool online, Millis now);

}  // namespace backend::domain
