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
enum class Verb { start, reload, restart };

struct ServiceStatus {
  Presence presence = Presence::available;
  Activity activity = Activity::stopped;
  std::string detail;        // of what does not run, or cannot be used: "failed/exit-code", "exit code 3"
  bool can_reload = true;    // false: surely not
  bool is_outdated = false;  // its definition has changed since it was read
  // Since when without a break, where that is known.
  std::optional<std::chrono::steady_clock::time_point> running_since{};

  bool is_running() const { return presence == Presence::available && activity == Activity::running; }
};

struct Performed {
  bool ok = false;
  std::string detail;  // when not: "failed/exit-code", "exit code 1"
  std::string output;  // of the programs that were run
};

class ServiceControl {
 public:
  virtual ~ServiceControl() = default;

  virtual base::Result<ServiceStatus> look(std::string_view name) = 0;

  // Does it and waits until it is done.
  virtual base::Result<Performed> perform(std::string_view name, Verb verb) = 0;

  // The last lines that the service said, for people; empty if there are none.
  virtual std::string recent_log(std::string_view name) = 0;
};

}  // namespace states::linux_service
