// AptPackage: the state type linux.apt.package, with how long it waits for other package managers.
#pragma once

#include <chrono>

#include "states/debian/apt_get.hpp"
#include "states/linux_apt_package/params.hpp"
#include "states/linux_apt_package/planning.hpp"
#include "states/state.hpp"

namespace states::linux_apt_package {

inline constexpr auto kParams = param_table(
    param<&Params::name>("name",
                         "packages, each with what is wanted of it: installed, latest, removed, purged, a "
                         "version, or a .deb file")
        .names()
        .required(),
    param<&Params::repo>("repo", "release to install from, as in apt-get -t").alias("fromrepo"),
    param<&Params::deb_conf_file>("deb-conf-file",
                                  "file of debconf answers, loaded before something is installed")
        .alias("debconf"),
    param<&Params::verify_gpg>("verify-gpg", "false counts only where the agent's configuration permits it")
        .fallback("true")
        .alias("verify_gpg"),
    param<&Params::allow_removals>("allow_removals",
                                   "also remove packages that `name` does not name, when apt would: what "
                                   "depends on a removed one, or conflicts with a new one")
        .fallback("false")
        .alias("allow-removals"));

class AptPackage final : public State<Params, Steps> {
 public:
  constexpr explicit AptPackage(debian::AptPatience patience = {})
      : State({.name = "linux.apt.package",
               .summary = "Debian packages that are installed, in a certain version, or gone",
               .family = Family::debian,
               .timeout = std::chrono::hours(1)},
              kParams),
        patience_(patience) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<Steps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const Steps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;

  debian::AptPatience patience_;
};

}  // namespace states::linux_apt_package
