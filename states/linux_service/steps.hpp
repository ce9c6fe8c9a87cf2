// What linux.service does to services, and the doing of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "states/context.hpp"
#include "states/linux_service/service_control.hpp"
#include "states/plan.hpp"

namespace states::linux_service {

enum class Action { none, start, reload, restart, reload_or_restart, command, stop };

// For one service, in this order.
struct Step {
  std::string name;
  bool unmask = false;
  std::optional<bool> enable{};  // at boot, or not
  Action action = Action::none;
  std::string command{};
  bool mask = false;

  bool is_empty() const { return !unmask && !enable && action == Action::none && !mask; }
};

// What apply has to do, and what its plan already found not to work.
struct Steps {
  std::vector<Step> steps;
  std::vector<std::string> kept;      // "cron is running": those that need nothing
  std::vector<std::string> problems;  // "Service x is masked"
};

// Takes all of them, also when one fails. Each service must be running afterwards, or not, as it was told to.
Applied take_steps(const Steps& steps, ApplyContext& context);

// Why a service that was found so cannot be used; empty if it can.
std::string problem_of(std::string_view name, const ServiceStatus& status);

// Cancelled or out of time: no other service is tried after that.
bool ends_everything(const base::Error& error);

// " (changed: /etc/a, 'vhost')": files, and states of the recipe; empty when neither is the reason.
std::string changed_text(const Context& context);

}  // namespace states::linux_service
