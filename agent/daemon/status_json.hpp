// What `opsagent status` is told. docs/command-line.md names the fields.
#pragma once

#include <chrono>
#include <string>

#include "agent/connection/connector.hpp"
#include "agent/daemon/daemon.hpp"
#include "agent/runtime/active_recipe.hpp"
#include "agent/runtime/daemon_state.hpp"
#include "agent/runtime/machine_holds.hpp"
#include "agent/runtime/recipe_modules.hpp"

namespace agent::daemon {

struct DaemonView {
  const runtime::DaemonSettings& settings;
  std::chrono::system_clock::time_point started;
  const runtime::ActiveRecipe& recipe;
  const runtime::DaemonState* live = nullptr;  // null: without a backend
  const connection::Connector* connector = nullptr;
  const runtime::RecipeModules* modules = nullptr;
  const runtime::MachineHolds& holds;
  bool is_stopping = false;
};

std::string status_json(const DaemonView& view);

}  // namespace agent::daemon
