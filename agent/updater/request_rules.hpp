// What becomes of a backend's request for an update. Pure, any thread: how far the last update is, the
// request and the installation go in, the decision comes out. The Updater performs it.
#pragma once

#include <string>

#include "agent/updater/settings.hpp"
#include "protocol/messages.hpp"
#include "update/update_table.hpp"

namespace agent::updater {

struct RequestDecision {
  enum class Kind {
    ignore,   // it is the update that is under way
    repeat,   // it was closed and reported: answered again, unless the answer is on its way
    refuse,   // with the reason
    confirm,  // with the reason: this version runs already
    begin,
  };
  Kind kind = Kind::begin;
  std::string why = {};
  bool operator==(const RequestDecision&) const = default;
};

// `own`: the folder in versions/ that runs; empty: another place.
RequestDecision decide_request(const update::Progress& progress, const protocol::AgentUpdate& request,
                               const Settings& settings, const std::string& own);

}  // namespace agent::updater
