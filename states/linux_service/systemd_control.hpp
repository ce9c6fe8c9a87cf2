// Services as units of a running systemd.
#pragma once

#include "states/context.hpp"
#include "states/linux_service/service_control.hpp"
#include "states/systemd/systemd_session.hpp"

namespace states::linux_service {

// The unit that a name stands for: ".service" is added unless it names a kind of unit itself.
std::string unit_name(std::string_view name);

class SystemdControl final : public ServiceControl {
 public:
  explicit SystemdControl(Context& context) : context_(context) {}

  base::Result<ServiceStatus> look(std::string_view name) override;
  base::Result<Performed> perform(std::string_view name, Verb verb) override;
  base::Result<BootStatus> look_at_boot(std::string_view name) override;
  base::Result<Performed> perform_for_boot(std::string_view name, BootVerb verb) override;
  std::string recent_log(std::string_view name) override;

  // Makes systemd read unit files and init scripts again.
  base::Result<void> reload_definitions() { return session().reload_definitions(context_); }

 private:
  systemd::SystemdSession& session() { return context_.facts.get<systemd::SystemdSession>(); }
  std::string why_not_running(const std::string& unit, const std::string& active_state);
  base::Result<std::string> why_not_disabled(const std::string& unit);

  Context& context_;
};

}  // namespace states::linux_service
