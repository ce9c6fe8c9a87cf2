// ServiceUnit: the unit of systemd that keeps a daemon running. Whoever wants to stop such a daemon must tell
// systemd, or it is started again a few seconds later.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace agent::control {

struct ServiceUnit {
  std::string name;            // "opsagent.service"
  bool is_of_session = false;  // of a user's own service manager

  // "systemctl stop opsagent.service", for people.
  std::string stop_command() const;
  std::string start_command() const;
};

// The service that a process belongs to, from the text of its /proc/PID/cgroup. Pure.
std::optional<ServiceUnit> unit_in_cgroup(std::string_view cgroup);

// The unit whose main process this is, itself or below our launcher. Nothing when it only happens to run in
// one (a login, cron, a container), and where there is no systemd.
std::optional<ServiceUnit> unit_kept_by(pid_t pid);

// Stops it, and with it whatever systemd was about to start. Blocks until that has happened.
base::Result<void> stop_unit(const ServiceUnit& unit);

}  // namespace agent::control
