// Services: the services of this machine, whoever runs them. Made for one plan or apply.
//
// With systemd running, a service is a unit; only a name without a unit but with an init script is the
// script. Without systemd all are init scripts.
#pragma once

#include "states/context.hpp"
#include "states/linux_service/service_control.hpp"
#include "states/linux_service/systemd_control.hpp"
#include "states/linux_service/sysv_control.hpp"

namespace states::linux_service {

class Services {
 public:
  explicit Services(Context& context);

  struct Found {
    ServiceControl* control = nullptr;  // never null
    ServiceStatus status;
  };
  // Does not wait: the service may be `starting`.
  base::Result<Found> find(std::string_view name);

  // Who starts the service at boot: an init script beside systemd is systemd's service, but not its to
  // enable.
  struct Boot {
    ServiceControl* control = nullptr;  // never null
    BootStatus status;
  };
  base::Result<Boot> look_at_boot(const Found& found, std::string_view name);
  base::Result<Performed> perform_for_boot(const Found& found, std::string_view name, BootVerb verb);
  bool can_mask(const Found& found) const { return found.control == &systemd_; }

  // The same as find(), but waits up to 30 s for one that is starting.
  base::Result<Found> find_settled(std::string_view name);

  // Before something is done to a service: makes systemd read what has changed of it, and new init scripts.
  base::Result<Found> prepare(std::string_view name);

  // After something was done to it at `acted`: waits until it has been running for 2 s, at most 30 s while it
  // is starting. Answers as soon as it does not run.
  base::Result<ServiceStatus> wait_until_steady(ServiceControl& control, std::string_view name,
                                                std::chrono::steady_clock::time_point acted);

 private:
  Context& context_;
  bool systemd_runs_;
  SystemdControl systemd_;
  SysvControl sysv_;
};

}  // namespace states::linux_service
