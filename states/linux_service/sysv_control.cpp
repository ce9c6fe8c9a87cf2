#include "states/linux_service/sysv_control.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/below_root.hpp"
#include "base/process.hpp"

namespace states::linux_service {

namespace {

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
  }
  return "";
}

std::string ending_of(const base::Completed& completed) {
  if (completed.ending == base::Ending::signalled) return "signal " + std::to_string(completed.signal);
  return "exit code " + std::to_string(completed.exit_code);
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
  if (!beside_systemd_ && base::find_program("service"))
    return context_.commands.run({"service", std::string(script_name(name)), verb});
  return context_.commands.run({script_path(name), verb});
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
                   .detail = completed->ok() ? std::string() : ending_of(*completed),
                   .output = std::move(completed->output)};
}

}  // namespace states::linux_service
