#include "states/linux_service/services.hpp"

#include <fcntl.h>

#include <algorithm>

#include "base/files/below_root.hpp"
#include "states/systemd/waiting.hpp"

namespace states::linux_service {

using systemd::Clock;
using systemd::pause_for;

namespace {

constexpr std::chrono::seconds kLongestStart{30};
constexpr std::chrono::seconds kSteady{2};
constexpr std::chrono::milliseconds kPollInterval{200};

bool is_systemd_running(const Host& host) {
  return bool(base::open_below(host.root, "/run/systemd/system", O_PATH));  // as sd_booted() does
}

}  // namespace

Services::Services(Context& context)
    : context_(context),
      systemd_runs_(is_systemd_running(context.host)),
      systemd_(context),
      sysv_(context, systemd_runs_) {}

base::Result<Services::Found> Services::find(std::string_view name) {
  if (systemd_runs_) {
    auto status = systemd_.look(name);
    if (!status) return std::move(status).error();
    if (status->presence != Presence::missing || !sysv_.has_script(name)) return Found{&systemd_, *status};
  }
  auto status = sysv_.look(name);
  if (!status) return std::move(status).error();
  return Found{&sysv_, *std::move(status)};
}

base::Result<Services::Found> Services::find_settled(std::string_view name) {
  const Clock::time_point end = Clock::now() + kLongestStart;
  while (true) {
    auto found = find(name);
    if (!found || found->status.activity != Activity::starting || Clock::now() >= end) return found;
    if (auto waited = pause_for(kPollInterval, name, context_); !waited) return std::move(waited).error();
  }
}

base::Result<Services::Boot> Services::look_at_boot(const Found& found, std::string_view name) {
  auto status = found.control->look_at_boot(name);
  if (!status) return std::move(status).error();
  if (found.control == &systemd_ && status->shown == "generated" && sysv_.has_script(name)) {
    auto of_script = sysv_.look_at_boot(name);
    if (!of_script) return std::move(of_script).error();
    return Boot{&sysv_, *std::move(of_script)};
  }
  return Boot{found.control, *std::move(status)};
}

base::Result<Performed> Services::perform_for_boot(const Found& found, std::string_view name, BootVerb verb) {
  if (verb == BootVerb::mask || verb == BootVerb::unmask) return found.control->perform_for_boot(name, verb);
  auto boot = look_at_boot(found, name);
  if (!boot) return std::move(boot).error();
  if (!boot->status.why_fixed.empty()) return Performed{.detail = boot->status.why_fixed};
  auto performed = boot->control->perform_for_boot(name, verb);
  if (!performed || !systemd_runs_ || boot->control == &systemd_) return performed;
  if (auto reloaded = systemd_.reload_definitions(); !reloaded) return std::move(reloaded).error();
  return performed;
}

base::Result<Services::Found> Services::prepare(std::string_view name) {
  auto found = find(name);
  if (!found) return found;
  const bool is_new_script = systemd_runs_ && found->control == &sysv_;
  if (!found->status.is_outdated && !is_new_script) return found;
  if (auto reloaded = systemd_.reload_definitions(); !reloaded) return std::move(reloaded).error();
  return find(name);
}

base::Result<ServiceStatus> Services::wait_until_steady(ServiceControl& control, std::string_view name,
                                                        Clock::time_point acted) {
  const Clock::time_point give_up = acted + kLongestStart;
  const bool can_be_polled = &control == &systemd_;  // each look at a script starts a program
  while (true) {
    const Clock::time_point now = Clock::now();
    if (can_be_polled || now >= acted + kSteady) {
      auto status = control.look(name);
      if (!status || status->activity == Activity::stopped) return status;
      const Clock::time_point since = std::max(acted, status->running_since.value_or(acted));
      if (status->is_running() && now >= since + kSteady) return status;
      if (now >= give_up) {
        if (status->is_running()) status->detail = "keeps restarting";
        status->activity = Activity::starting;
        return status;
      }
    }
    const auto next =
        can_be_polled ? kPollInterval : std::chrono::ceil<std::chrono::milliseconds>(acted + kSteady - now);
    if (auto waited = pause_for(next, name, context_); !waited) return std::move(waited).error();
  }
}

}  // namespace states::linux_service
