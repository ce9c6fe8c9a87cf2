#include "states/prerequisites/prerequisite.hpp"

#include <optional>

#include "base/text.hpp"
#include "states/debian/apt_cache.hpp"
#include "states/debian/apt_get.hpp"
#include "states/debian/dpkg_status.hpp"

namespace states::prerequisites {

namespace {

using base::ErrorCode;
using base::Result;
using Family = base::OsRelease::Family;
using Names = std::vector<std::string>;

Names names_in(const Packages& packages) {
  Names names;
  for (const std::string_view package : packages)
    if (!package.empty()) names.emplace_back(package);
  return names;
}

// Those of this distribution.
Names packages_for(const Context& context, const Prerequisite& needed) {
  switch (context.host.os.family) {
    case Family::debian:
      return names_in(needed.debian_packages);
    case Family::rhel:
      return names_in(needed.rhel_packages);
    default:
      return {};
  }
}

bool is_there(Context& context, const Prerequisite& needed) {
  return needed.is_there ? needed.is_there(context) : base::find_program(needed.program).has_value();
}

base::Error missing(const Prerequisite& needed, const std::string& why) {
  return {ErrorCode::not_found, "Cannot run " + std::string(needed.module) + ": '" +
                                    std::string(needed.program) + "' is missing" + why};
}

// The first of them that apt would install; nothing if it knows none, or cannot be asked.
std::optional<std::string> offered_by_apt(const Names& packages, Context& context, debian::AptAccess access) {
  auto candidates = debian::AptCache(context, {}, access).candidates(packages);
  if (!candidates) return std::nullopt;
  for (const std::string& package : packages)
    if (const auto found = candidates->find(package); found != candidates->end() && !found->second.empty())
      return package;
  return std::nullopt;
}

// What the plan names: apt is only asked where there is a choice, and dnf never.
std::string likely_package(const Names& packages, Context& context) {
  if (packages.size() == 1 || context.host.os.family != Family::debian) return packages.front();
  return offered_by_apt(packages, context, debian::AptAccess::read_only).value_or(packages.front());
}

// One installation for apply(), which remembers why it has failed last.
class Installer {
 public:
  Installer(ApplyContext& context, const Prerequisite& needed)
      : context_(context), needed_(needed), apt_(context), packages_(packages_for(context, needed)) {}

  Result<Installation> run() {
    auto installed = context_.host.os.family == Family::debian ? with_apt() : with_dnf();
    if (!installed) return std::move(installed).error();
    if (*installed) return Installation{"Installed " + **installed, apt_.output()};
    const std::string why = context_.sensitive || why_.empty() ? std::string() : ": " + why_;
    return missing(needed_,
                   " and package '" + base::join(packages_, "' or '") + "' could not be installed" + why);
  }

 private:
  using Installed = std::optional<std::string>;  // the package that has brought the program

  // By the lists that are there, and then by new ones: old lists name versions that no mirror has any more.
  Result<Installed> with_apt() {
    for (const bool refreshes : {false, true}) {
      if (refreshes)
        if (auto stop = stopped(apt_.refresh_lists())) return std::move(*stop);
      const auto package = offered_by_apt(packages_, context_, debian::AptAccess::writable);
      if (!package) continue;
      // Nothing that is installed has to go for it.
      auto stop = stopped(apt_.commit({.installs = {*package}}, {}));
      debian::forget_packages(context_);
      if (stop) return std::move(*stop);
      if (is_there(context_, needed_)) return Installed(package);
    }
    return Installed();
  }

  // What the distribution itself does not have, EPEL may.
  Result<Installed> with_dnf() {
    auto tried = each_with_dnf();
    if (!tried || *tried) return tried;
    if (auto stop = stopped(install_with_dnf("epel-release"))) return std::move(*stop);
    return each_with_dnf();
  }

  Result<Installed> each_with_dnf() {
    for (const std::string& package : packages_) {
      if (auto stop = stopped(install_with_dnf(package))) return std::move(*stop);
      if (is_there(context_, needed_)) return Installed(package);
    }
    return Installed();
  }

  Result<void> install_with_dnf(const std::string& package) {
    const std::string dnf = base::find_program("dnf") ? "dnf" : "yum";
    return apt_.run_program(dnf + " install", {dnf, "-y", "install", package});
  }

  // A package manager that fails is no reason to stop: what counts is whether the program is there in the
  // end.
  std::optional<base::Error> stopped(const Result<void>& done) {
    if (done) return std::nullopt;
    const ErrorCode code = done.error().code();
    if (code == ErrorCode::cancelled || code == ErrorCode::timed_out) return done.error();
    why_ = done.error().message();
    return std::nullopt;
  }

  ApplyContext& context_;
  const Prerequisite& needed_;
  debian::AptGet apt_;
  const Names packages_;
  std::string why_;  // of the last attempt that has failed
};

}  // namespace

Result<bool> plan_program(Context& context, const Prerequisite& needed, Plan& plan) {
  const Names packages = packages_for(context, needed);
  const bool is_there_now = is_there(context, needed);
  bool will_be_gone = false;
  for (const std::string& package : packages) {
    const Overlay::Entry* planned = context.overlay.find(EffectKind::package, package);
    if (planned && planned->effect.present) return is_there_now;
    will_be_gone |= planned && !planned->effect.present;
  }
  if (is_there_now && !will_be_gone) return true;
  if (packages.empty()) return missing(needed, {});
  const std::string package = likely_package(packages, context);
  // A command of an earlier state may well be what brings the program.
  const Overlay::Entry* command =
      will_be_gone ? nullptr : context.overlay.provider(EffectKind::package, package);
  plan.changes.insert(plan.changes.begin(), {.what = "package " + package,
                                             .before = "absent",
                                             .after = command ? "installed, unless '" + command->state_id +
                                                                    "' brings " + std::string(needed.program)
                                                              : "installed"});
  plan.effects.insert(plan.effects.begin(),
                      {.kind = EffectKind::package, .name = package, .certain = command == nullptr});
  return is_there_now;
}

std::vector<Effect> possible_packages(const Prerequisite& needed) {
  std::vector<Effect> effects;
  for (const Packages* packages : {&needed.debian_packages, &needed.rhel_packages})
    for (std::string& name : names_in(*packages))
      effects.push_back({.kind = EffectKind::package, .name = std::move(name)});
  return effects;
}

Result<Installation> ensure_program(ApplyContext& context, const Prerequisite& needed) {
  if (is_there(context, needed)) return Installation{};
  if (packages_for(context, needed).empty()) return missing(needed, {});
  return Installer(context, needed).run();
}

}  // namespace states::prerequisites
