#include "states/linux_service/systemd_control.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "states/linux_service/install_section.hpp"

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
    case Verb::stop:
      return "StopUnit";
  }
  return "";
}

const char* method_of(BootVerb verb) {
  switch (verb) {
    case BootVerb::enable:
      return "EnableUnitFiles";
    case BootVerb::disable:
      return "DisableUnitFiles";
    case BootVerb::mask:
      return "MaskUnitFiles";
    case BootVerb::unmask:
      return "UnmaskUnitFiles";
  }
  return "";
}

constexpr std::string_view kNothingToInstall =
    "its unit has no [Install] section, so it starts only when another unit wants it. Give it one "
    "(WantedBy=multi-user.target) in its file or in a drop-in";

// Why a unit in this state can be neither enabled nor disabled; empty when it can.
std::string why_fixed(std::string_view state) {
  if (state == "static") return "it is static: " + std::string(kNothingToInstall);
  if (state == "indirect")
    return "it is indirect: its own [Install] section enables other units (Also=, or another instance of its "
           "template). Name those";
  if (state == "generated")
    return "it is generated at every boot. Change what it is generated from, or mask it";
  if (state == "transient") return "it is transient: it is gone at the next boot";
  if (state == "bad") return "its unit file is not valid";
  if (state.empty()) return "it has no unit file";
  return {};
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

// systemd takes all links to the unit's file away when it disables it: the one that makes it a unit, too, if
// the file is not in one of systemd's folders.
base::Result<std::string> SystemdControl::why_not_disabled(const std::string& unit) {
  for (const std::string_view folder : {kUnitFolders[0], kUnitFolders[1]}) {
    const std::string path = std::string(folder) + "/" + unit;
    const auto found = context_.tree.look(path);
    if (!found || !*found || !S_ISLNK((*found)->st_mode)) continue;
    auto links = session().links_of(unit, folder == kUnitFolders[1], context_);
    if (!links && links.error().code() != base::ErrorCode::io) return std::move(links).error();
    if (!links || std::ranges::find(*links, path) == links->end()) continue;
    const auto target = context_.tree.read_link(path);
    return path + " is a link to its file" + (target ? ", " + *target : std::string()) +
           ", and systemd would take that away, and the service with it. Put the file itself there "
           "(linux.file), or stop and remove the service";
  }
  return std::string();
}

base::Result<BootStatus> SystemdControl::look_at_boot(std::string_view name) {
  const std::string unit = unit_name(name);
  auto state = session().unit_file_state(unit, context_);
  // Not there, or not readable: that it is so is no error of the look.
  if (!state && state.error().code() == base::ErrorCode::io)
    return BootStatus{.shown = "absent", .why_fixed = state.error().message()};
  if (!state) return std::move(state).error().with_context(unit);
  BootStatus status{.shown = *state,
                    .is_enabled = *state == "enabled",
                    .is_leftover = *state == "enabled-runtime",
                    .is_masked = state->starts_with("masked"),
                    .is_masked_for_now = *state == "masked-runtime",
                    .why_fixed = why_fixed(*state)};
  if (state->starts_with("linked") && !may_be_enabled(unit, context_.tree))
    status.why_not_enabled = "it is linked, and " + std::string(kNothingToInstall);
  if (status.is_enabled || status.is_leftover) {
    auto why = why_not_disabled(unit);
    if (!why) return std::move(why).error().with_context(unit);
    status.why_not_disabled = *std::move(why);
  }
  if (*state != "alias") return status;
  auto found = session().properties(unit, context_);
  if (!found) return std::move(found).error().with_context(unit);
  status.why_fixed = "it is another name of " + found->id + ". Say it of that one";
  return status;
}

base::Result<Performed> SystemdControl::perform_for_boot(std::string_view name, BootVerb verb) {
  const std::string unit = unit_name(name);
  const bool takes_away = verb == BootVerb::disable || verb == BootVerb::unmask;
  auto changed = session().change_unit_file(method_of(verb), unit, false, context_);
  if (changed && verb == BootVerb::enable && !*changed)
    return Performed{.ok = false, .detail = std::string(kNothingToInstall)};
  // What holds until the next boot only is in a folder of its own.
  if (changed && takes_away) changed = session().change_unit_file(method_of(verb), unit, true, context_);
  if (!changed && changed.error().code() == base::ErrorCode::io)
    return Performed{.ok = false, .detail = changed.error().message()};
  if (!changed) return std::move(changed).error();
  // As systemctl does it: systemd keeps what it has read.
  if (auto reloaded = reload_definitions(); !reloaded) return std::move(reloaded).error();
  return Performed{.ok = true};
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
