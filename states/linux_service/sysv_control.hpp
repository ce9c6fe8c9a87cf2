// Services as init scripts in /etc/init.d.
#pragma once

#include "states/context.hpp"
#include "states/linux_service/service_control.hpp"

namespace states::linux_service {

class SysvControl final : public ServiceControl {
 public:
  // `beside_systemd`: scripts are called directly then, because service(8) would hand them to systemd.
  SysvControl(Context& context, bool beside_systemd) : context_(context), beside_systemd_(beside_systemd) {}

  // Whether there is an executable script for it.
  bool has_script(std::string_view name) const;

  base::Result<ServiceStatus> look(std::string_view name) override;
  base::Result<Performed> perform(std::string_view name, Verb verb) override;
  base::Result<BootStatus> look_at_boot(std::string_view name) override;
  base::Result<Performed> perform_for_boot(std::string_view name, BootVerb verb) override;
  std::string recent_log(std::string_view) override { return {}; }  // scripts say it on their output

 private:
  base::Result<base::Completed> run_script(std::string_view name, const char* verb);

  Context& context_;
  const bool beside_systemd_;
};

// The script that a name stands for: /etc/init.d/cron for both "cron" and "cron.service".
std::string script_path(std::string_view name);

}  // namespace states::linux_service
