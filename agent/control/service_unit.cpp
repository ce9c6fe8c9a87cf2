#include "agent/control/service_unit.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "base/files/file_read.hpp"
#include "base/output_text.hpp"
#include "base/programs/control_group.hpp"
#include "base/programs/process.hpp"
#include "base/text.hpp"

namespace agent::control {

namespace {

constexpr std::size_t kLargestProcFile = base::kLargestCgroupFile;
constexpr std::chrono::seconds kQuickAnswer{10};
constexpr std::chrono::seconds kLongestStop{120};  // the unit's own limit is 60 s
// As it is built, and as it is installed.
constexpr std::array<std::string_view, 2> kLaunchers{"opsagent-launch", "launch"};

std::string proc_file(pid_t pid, std::string_view name) {
  auto text = base::read_file("/proc/" + std::to_string(pid) + "/" + std::string(name), kLargestProcFile);
  return text ? std::move(*text) : std::string();
}

std::optional<pid_t> parent_of(pid_t pid) {
  constexpr std::string_view kField = "PPid:";
  const std::string status = proc_file(pid, "status");
  for (const std::string_view line : base::split(status, '\n'))
    if (line.starts_with(kField))
      if (const auto parent = base::parse_integer(base::trim(line.substr(kField.size()))))
        return static_cast<pid_t>(*parent);
  return std::nullopt;
}

base::Result<std::string> systemctl(const ServiceUnit& unit, std::vector<std::string> arguments,
                                    std::chrono::seconds patience) {
  base::Command command;
  command.argv = {"systemctl"};
  if (unit.is_of_session) command.argv.emplace_back("--user");
  for (std::string& argument : arguments)
    command.argv.push_back(std::move(argument));
  command.argv.push_back(unit.name);
  command.env = base::clean_environment();
  if (unit.is_of_session) command.env.push_back("XDG_RUNTIME_DIR=/run/user/" + std::to_string(::geteuid()));
  command.timeout = patience;
  auto completed = base::run(command);
  if (!completed) return std::move(completed).error();
  if (completed->ending == base::Ending::timed_out)
    return base::Error(base::ErrorCode::timed_out, "systemctl does not answer");
  const std::string said = base::clean_output(completed->output);
  if (!completed->ok()) return base::Error(base::ErrorCode::io, std::string(base::last_line(said)));
  return std::string(base::trim(said));
}

}  // namespace

std::string ServiceUnit::stop_command() const {
  return std::string("systemctl ") + (is_of_session ? "--user " : "") + "stop " + name;
}

std::string ServiceUnit::start_command() const {
  return std::string("systemctl ") + (is_of_session ? "--user " : "") + "start " + name;
}

std::optional<ServiceUnit> unit_in_cgroup(std::string_view cgroup) {
  ServiceUnit unit;
  for (const std::string_view part : base::split(base::systemd_group(cgroup), '/')) {
    if (!part.ends_with(".service")) continue;
    if (unit.name.starts_with("user@")) unit.is_of_session = true;
    unit.name = part;
  }
  const bool is_manager = unit.name.starts_with("user@") && !unit.is_of_session;
  return unit.name.empty() || is_manager ? std::nullopt : std::optional(std::move(unit));
}

std::optional<ServiceUnit> unit_kept_by(pid_t pid) {
  auto unit = unit_in_cgroup(proc_file(pid, "cgroup"));
  if (!unit) return std::nullopt;
  const auto answer = systemctl(*unit, {"show", "--property=MainPID", "--value"}, kQuickAnswer);
  const auto main = answer ? base::parse_integer(*answer) : std::nullopt;
  if (!main || *main <= 0) return std::nullopt;
  if (*main == pid) return unit;
  const auto parent = parent_of(pid);
  if (!parent || *parent != *main) return std::nullopt;
  const std::string name = proc_file(*parent, "comm");
  const bool is_launched = std::ranges::find(kLaunchers, base::trim(name)) != kLaunchers.end();
  return is_launched ? unit : std::nullopt;
}

base::Result<void> stop_unit(const ServiceUnit& unit) {
  auto stopped = systemctl(unit, {"stop"}, kLongestStop);
  if (!stopped) return std::move(stopped).error();
  return {};
}

}  // namespace agent::control
