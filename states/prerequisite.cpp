#include "states/prerequisite.hpp"

#include <vector>

#include "base/output_text.hpp"

namespace states {

namespace {

using Family = base::OsRelease::Family;

std::string_view package_for(const Context& context, const Prerequisite& needed) {
  switch (context.host.os.family) {
    case Family::debian:
      return needed.debian_package;
    case Family::rhel:
      return needed.rhel_package;
    default:
      return {};
  }
}

base::Error missing(const Prerequisite& needed, const std::string& why) {
  return {base::ErrorCode::not_found, "Cannot run " + std::string(needed.module) + ": '" +
                                          std::string(needed.program) + "' is missing" + why};
}

// Runs one command of the package manager and collects what it prints. Its exit status decides nothing: what
// counts is whether the program is there in the end.
base::Result<void> run_step(ApplyContext& context, std::vector<std::string> argv, std::string& output) {
  base::Command command;
  command.argv = std::move(argv);
  command.env = base::clean_environment();
  for (const char* setting :
       {"DEBIAN_FRONTEND=noninteractive", "APT_LISTCHANGES_FRONTEND=none", "NEEDRESTART_SUSPEND=1"})
    command.env.emplace_back(setting);
  command.timeout = context.commands.time_left();  // a package may take longer than other commands
  auto completed = context.commands.run(std::move(command));
  if (completed) output += base::clean_output(completed->output);
  if (!completed && completed.error().code() != base::ErrorCode::not_found)
    return std::move(completed).error();
  return {};
}

// In order, until the program is there: plain; then with what may have been lacking.
std::vector<std::vector<std::string>> steps_for(Family family, const std::string& package) {
  if (family == Family::rhel) {
    const std::string dnf = base::find_program("dnf") ? "dnf" : "yum";
    const std::vector<std::string> install = {dnf, "-y", "install", package};
    return {install, {dnf, "-y", "install", "epel-release"}, install};
  }
  const std::vector<std::string> install = {"apt-get", "install",
                                            "-y",      "-q",
                                            "-o",      "Dpkg::Options::=--force-confdef",
                                            "-o",      "Dpkg::Options::=--force-confold",
                                            "-o",      "DPkg::Lock::Timeout=600",
                                            package};
  return {install, {"apt-get", "update", "-q", "-o", "DPkg::Lock::Timeout=600"}, install};
}

}  // namespace

base::Result<std::optional<Change>> plan_program(const Context& context, const Prerequisite& needed) {
  if (base::find_program(needed.program)) return std::optional<Change>();
  const std::string package(package_for(context, needed));
  if (package.empty()) return missing(needed, {});
  return std::optional(Change{.what = "package " + package, .before = "absent", .after = "installed"});
}

base::Result<Installation> ensure_program(ApplyContext& context, const Prerequisite& needed) {
  if (base::find_program(needed.program)) return Installation{};
  const std::string package(package_for(context, needed));
  if (package.empty()) return missing(needed, {});
  Installation made;
  for (auto& argv : steps_for(context.host.os.family, package)) {
    if (auto ran = run_step(context, std::move(argv), made.output); !ran) return std::move(ran).error();
    if (!base::find_program(needed.program)) continue;
    made.comment = "Installed " + package;
    return made;
  }
  const std::string_view why = base::last_line(made.output);
  return missing(needed, " and package '" + package + "' could not be installed" +
                             (why.empty() ? "" : ": " + std::string(why)));
}

}  // namespace states
