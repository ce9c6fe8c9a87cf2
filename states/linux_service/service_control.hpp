// ServiceControl: what linux.service needs of whatever runs the services of a machine.
//
// Made for one plan or apply, on the worker's thread. look() changes nothing. An Error of any function means
// that nothing could be learnt or tried (cancelled, out of time, systemd not reachable); a service that does
// not do as told is in the answer.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace states::linux_service {

enum class Presence { available, missing, masked, unusable };
enum class Activity { running, starting, stopped };
enum class Verb { start, reload, restart, stop };
enum class BootVerb { enable, disable, mask, unmask };

struct ServiceStatus {
  Presence presence = Presence::available;
  Activity activity = Activity::stopped;
  std::string detail;  // of what does not run, or cannot be used: "failed/exit-code", "exit code 3"
  std::optional<bool> can_reload{};  // nothing: that is seen when it is tried
  bool is_outdated = false;          // its definition has changed since it was read
  // Since when without a break, where that is known.
  std::optional<std::chrono::steady_clock::time_point> running_since{};

  bool is_running() const { return presence == Presence::available && activity == Activity::running; }
};

// What becomes of a service when the machine boots.
struct BootStatus {
  std::string shown;         // in the words of whoever runs it: "enabled", "disabled", "static"
  bool is_enabled = false;   // it starts at boot
  bool is_leftover = false;  // not enabled, but there is something to disable: enabled until the next boot
  bool is_masked = false;
  bool is_masked_for_now = false;  // until the next boot only
  std::string why_fixed;           // why it can be neither enabled nor disabled; empty when it can
  std::string why_not_enabled;     // why one of the two alone cannot be; empty when it can, or is so already
  std::string why_not_disabled;
};

struct Performed {
  bool ok = false;
  bool is_unsupported = false;  // when not: the service cannot do that at all, so nothing was tried
  std::string detail;           // when not: "failed/exit-code", "exit code 1"
  std::string output;           // of the programs that were run
};

class ServiceControl {
 public:
  virtual ~ServiceControl() = default;

  virtual base::Result<ServiceStatus> look(std::string_view name) = 0;

  // Does it and waits until it is done.
  virtual base::Result<Performed> perform(std::string_view name, Verb verb) = 0;

  // How it stands with the next boot. Changes nothing.
  virtual base::Result<BootStatus> look_at_boot(std::string_view name) = 0;
  virtual base::Result<Performed> perform_for_boot(std::string_view name, BootVerb verb) = 0;

  // The last lines that the service said, for people; empty if there are none.
  virtual std::string recent_log(std::string_view name) = 0;
};

}  // namespace states::linux_service
