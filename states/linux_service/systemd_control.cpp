#include "states/linux_service/systemd_control.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace states::linux_service {

namespace {

constexpr std::array<std::string_view, 11> kUnitKinds{".service", ".socket",    ".timer", ".target",
                                                      ".mount",   ".path",      ".swap",  ".slice",
                                                      ".scope",   ".automount", ".device"};
constexpr std::chrono::seconds kLogPatience{10};

Presence presence_of(std::string_view load_state) {
  if (load_state == "loaded") return Presence::available;
  if (load_state == "not-found") return Presence::missing;
  if (load_state == "masked") return Presence::masked;
  return Presence::unusable;  // bad-setting, error
}

Activity activity_of(std::string_view active_state) {
  if (active_state == "active" || active_state == "reloading" || active_state == "refreshing")
    return Activity::running;
  return active_state == "activating" ? Activity::starting : Activity::stopped;
}

const char* method_of(Verb verb) {
  switch (verb) {
    case Verb::start:
      return "StartUnit";
    case Verb::restart:
      return "RestartUnit";
    case Verb::reload:
      return "ReloadUnit";
  }
  return "";
}

}  // namespace

std::string unit_name(std::string_view name) {
  const bool has_kind =
      std::ranges::any_of(kUnitKinds, [&](std::string_view kind) { return name.ends_with(kind); });
  return std::string(name) + (has_kind ? "" : ".service");
}

std::string SystemdControl::why_not_running(const std::string& unit, const std::string& active_state) {
  const std::string result = session().result(unit, context_);
  std::string why = result.empty() ? active_state : active_state + "/" + result;
  if (result == "success" && session().ends_when_done(unit, context_))
    why += " (a oneshot unit without RemainAfterExit=yes is never running)";
  return why;
}

base::Result<ServiceStatus> SystemdControl::look(std::string_view name) {
  const std::string unit = unit_name(name);
  auto found = session().properties(unit, context_);
  if (!found) return std::move(found).error().with_context(unit);
  ServiceStatus status{.presence = presence_of(found->load_state),
                       .activity = activity_of(found->active_state),
                       .can_reload = found->can_reload,
                       .is_outdated = found->need_daemon_reload};
  if (status.presence == Presence::unusable)
    status.detail = found->load_error.empty() ? found->load_state : found->load_error;
  if (status.presence != Presence::available) return status;
  if (status.activity == Activity::running)
    status.running_since =
        std::chrono::steady_clock::time_point(std::chrono::microseconds(found->active_enter));
  else
    status.detail = why_not_running(unit, found->active_state);
  return status;
}

base::Result<Performed> SystemdControl::perform(std::string_view name, Verb verb) {
  const std::string unit = unit_name(name);
  auto result = session().run_job(method_of(verb), unit, context_);
  if (!result && result.error().code() == base::ErrorCode::io)
    return Performed{.ok = false, .detail = result.error().message()};
  if (!result) return std::move(result).error();
  if (*result == "done") return Performed{.ok = true};
  // How the job ended says less than how the unit is now, except when the unit was not even tried.
  if (*result != "failed" || verb == Verb::reload) return Performed{.ok = false, .detail = "job " + *result};
  auto status = look(name);
  if (!status) return std::move(status).error();
  return Performed{.ok = false, .detail = status->detail.empty() ? "job failed" : status->detail};
}

std::string SystemdControl::recent_log(std::string_view name) {
  const std::string unit = unit_name(name);
  const auto output_of = [&](std::vector<std::string> argv) -> std::string {
    base::Command command;
    command.argv = std::move(argv);
    command.timeout = kLogPatience;
    auto completed = context_.commands.run(std::move(command));
    return completed ? std::string(base::trim(completed->output)) : std::string();
  };
  // What the service said last may still be on its way.
  (void)output_of({"journalctl", "--sync"});
  std::string lines = output_of({"journalctl", "--quiet", "--no-pager", "--lines=20", "--unit=" + unit});
  if (lines.empty())
    lines = output_of({"systemctl", "status", "--no-pager", "--full", "--lines=20", "--", unit});
  return lines;
}

}  // namespace states::linux_service
