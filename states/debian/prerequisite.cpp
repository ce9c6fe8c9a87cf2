#include "states/debian/prerequisite.hpp"

#include <functional>
#include <vector>

#include "base/output_text.hpp"
#include "states/debian/apt_get.hpp"

namespace states::debian {

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

// A package manager that fails is no reason to stop: what counts is whether the program is there in the end.
base::Result<void> unless_stopped(base::Result<void> done) {
  const bool stopped = !done && (done.error().code() == base::ErrorCode::cancelled ||
                                 done.error().code() == base::ErrorCode::timed_out);
  return stopped ? std::move(done) : base::Result<void>();
}

// Each of the steps is tried until the program is there: plain, then with what may have been lacking.
using Step = std::function<base::Result<void>(AptGet&)>;
std::vector<Step> steps_for(Family family, const std::string& package) {
  if (family == Family::debian) {
    // Nothing that is installed has to go for it.
    const Step install = [=](AptGet& apt) { return apt.commit({.installs = {package}}, {}); };
    return {install, [](AptGet& apt) { return apt.refresh_lists(); }, install};
  }
  const std::string dnf = base::find_program("dnf") ? "dnf" : "yum";
  const auto install = [=](const std::string& name) -> Step {
    return [=](AptGet& runner) { return runner.run_program(dnf + " install", {dnf, "-y", "install", name}); };
  };
  return {install(package), install("epel-release"), install(package)};
}

}  // namespace

base::Result<std::optional<Change>> plan_program(const Context& context, const Prerequisite& needed) {
  if (base::find_program(needed.program)) return std::optional<Change>();
  const std::string package(package_for(context, needed));
  if (package.empty()) return missing(needed, {});
  const Overlay::Entry* planned = context.overlay.find(EffectKind::package, package);
  if (planned && planned->effect.present) return std::optional<Change>();
  return std::optional(Change{.what = "package " + package, .before = "absent", .after = "installed"});
}

base::Result<Installation> ensure_program(ApplyContext& context, const Prerequisite& needed) {
  if (base::find_program(needed.program)) return Installation{};
  const std::string package(package_for(context, needed));
  if (package.empty()) return missing(needed, {});
  AptGet runner(context);
  for (const Step& step : steps_for(context.host.os.family, package)) {
    if (auto ran = unless_stopped(step(runner)); !ran) return std::move(ran).error();
    if (base::find_program(needed.program)) return Installation{"Installed " + package, runner.output()};
  }
  const std::string_view why = context.sensitive ? std::string_view() : base::last_line(runner.output());
  return missing(needed, " and package '" + package + "' could not be installed" +
                             (why.empty() ? "" : ": " + std::string(why)));
}

}  // namespace states::debian
