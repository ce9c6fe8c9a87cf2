// What `opsagent status` is told. docs/command-line.md names the fields.
#pragma once

#include <chrono>
#include <string>

#include "agent/connection/connector.hpp"
#include "agent/daemon/daemon.hpp"
#include "agent/runtime/daemon_state.hpp"
#include "agent/runtime/progress.hpp"

namespace agent::manager {

struct DaemonView {
  const DaemonSettings& settings;
  std::chrono::system_clock::time_point started;
  const Progress& progress;
  const LiveParts* live = nullptr;  // null: without a backend
  const Connector* connector = nullptr;
  bool is_stopping = false;
};

std::string status_json(const DaemonView& view);

}  // namespace agent::manager
