#include "states/linux_service/sysv_control.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "base/files/below_root.hpp"
#include "base/programs/process.hpp"
#include "states/systemd/leftovers.hpp"

namespace states::linux_service {

namespace {

// What LSB has init scripts say for an action that they do not know.
constexpr int kNotImplemented = 3;
constexpr const char* kUpdateRc = "update-rc.d";

std::string_view script_name(std::string_view name) {
  constexpr std::string_view kSuffix = ".service";
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  return name;
}

const char* word_of(Verb verb) {
  switch (verb) {
    case Verb::start:
      return "start";
    case Verb::restart:
      return "restart";
    case Verb::reload:
      return "reload";
    case Verb::stop:
      return "stop";
  }
  return "";
}

std::string ending_of(const base::Completed& completed) {
  if (completed.ending == base::Ending::signalled) return "signal " + std::to_string(completed.signal);
  return "exit code " + std::to_string(completed.exit_code);
}

// Whether a runlevel starts the script: /etc/rc2.d/S01cron, and so on.
bool has_start_link(std::string_view script, const std::string& root) {
  const auto starts_it = [&](const std::string& name) {
    const auto is_digit = [&](std::size_t at) {
      return std::isdigit(static_cast<unsigned char>(name[at])) != 0;
    };
    return name.size() > 3 && name[0] == 'S' && is_digit(1) && is_digit(2) && name.substr(3) == script;
  };
  for (const char level : {'S', '2', '3', '4', '5'})
    if (std::ranges::any_of(base::names_below(root, std::string("/etc/rc") + level + ".d"), starts_it))
      return true;
  return false;
}

}  // namespace

std::string script_path(std::string_view name) {
  return "/etc/init.d/" + std::string(script_name(name));
}

bool SysvControl::has_script(std::string_view name) const {
  const base::UniqueFd script = base::open_below(context_.host.root, script_path(name), O_PATH);
  struct stat st {};
  if (!script || ::fstat(script.get(), &st) != 0 || !S_ISREG(st.st_mode)) return false;
  const std::string by_descriptor = "/proc/self/fd/" + std::to_string(script.get());
  return ::access(by_descriptor.c_str(), X_OK) == 0;
}

base::Result<base::Completed> SysvControl::run_script(std::string_view name, const char* verb) {
  base::Command command;
  if (!beside_systemd_ && base::find_program("service"))
    command.argv = {"service", std::string(script_name(name)), verb};
  else
    command.argv = {script_path(name), verb};
  systemd::Leftovers left(command, context_);  // the service itself
  return context_.commands.run(command);
}

base::Result<ServiceStatus> SysvControl::look(std::string_view name) {
  if (!has_script(name)) return ServiceStatus{.presence = Presence::missing};
  auto completed = run_script(name, "status");
  if (!completed) return std::move(completed).error();
  if (completed->ok()) return ServiceStatus{.activity = Activity::running};
  return ServiceStatus{.activity = Activity::stopped, .detail = ending_of(*completed)};
}

base::Result<Performed> SysvControl::perform(std::string_view name, Verb verb) {
  auto completed = run_script(name, word_of(verb));
  if (!completed) return std::move(completed).error();
  return Performed{.ok = completed->ok(),
                   .is_unsupported = verb == Verb::reload && completed->ending == base::Ending::exited &&
                                     completed->exit_code == kNotImplemented,
                   .detail = completed->ok() ? std::string() : ending_of(*completed),
                   .output = std::move(completed->output)};
}

base::Result<BootStatus> SysvControl::look_at_boot(std::string_view name) {
  BootStatus status{.is_enabled = has_start_link(script_name(name), context_.host.root)};
  status.shown = status.is_enabled ? "enabled" : "disabled";
  if (!base::find_program(kUpdateRc))
    status.why_fixed = std::string(kUpdateRc) + " is not on this machine, which does it for init scripts";
  return status;
}

base::Result<Performed> SysvControl::perform_for_boot(std::string_view name, BootVerb verb) {
  if (verb == BootVerb::mask || verb == BootVerb::unmask)
    return Performed{.detail = "init scripts cannot be masked"};
  std::string output;
  // `enable` and `disable` work on links that must be there; `defaults` makes them where they are not.
  for (const char* word : {"defaults", verb == BootVerb::enable ? "enable" : "disable"}) {
    auto completed = context_.commands.run({kUpdateRc, std::string(script_name(name)), word});
    if (!completed) return std::move(completed).error();
    output += completed->output;
    if (!completed->ok())
      return Performed{.detail = std::string(kUpdateRc) + " " + word + ": " + ending_of(*completed),
                       .output = std::move(output)};
  }
  return Performed{.ok = true, .output = std::move(output)};
}

}  // namespace states::linux_service
