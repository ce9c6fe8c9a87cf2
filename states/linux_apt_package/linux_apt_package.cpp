// linux.apt.package: Debian packages that are installed, in a certain version, or gone.
#include <array>

#include "base/tree.hpp"
#include "states/linux_apt_package/applying.hpp"
#include "states/linux_apt_package/entry.hpp"
#include "states/linux_apt_package/planning.hpp"
#include "states/state.hpp"

namespace states::linux_apt_package {

namespace {

constexpr std::array kParams{
    param<&Params::name>("name",
                         "packages, each with what is wanted of it: installed, latest, removed, purged, a "
                         "version, or a .deb file")
        .required(),
    param<&Params::repo>("repo", "release to install from, as in apt-get -t").alias("fromrepo"),
    param<&Params::deb_conf_file>("deb-conf-file",
                                  "file of debconf answers, loaded before something is installed")
        .alias("debconf"),
    param<&Params::verify_gpg>("verify-gpg", "false counts only where the agent's configuration permits it")
        .fallback("true")
        .alias("verify_gpg"),
};

base::Result<void> check(const Params& params) {
  if (auto request = read_request(params.name); !request) return std::move(request).error();
  if (params.repo &&
      (params.repo->starts_with('-') || params.repo->find_first_of(" \t\n") != params.repo->npos))
    return base::Error(base::ErrorCode::invalid,
                       "Illegal value for 'repo': '" + std::string(*params.repo) + "'");
  if (params.deb_conf_file)
    if (auto path = base::clean_path(*params.deb_conf_file); !path) return std::move(path).error();
  return {};
}

Applied apply_patiently(const Params& params, const Plan& plan, ApplyContext& context) {
  return apply(params, plan, context, {});
}

}  // namespace

extern const StateType kState;
const StateType kState{
    .name = "linux.apt.package",
    .summary = "Debian packages that are installed, in a certain version, or gone",
    .params = kParams,
    .family = Family::debian,
    .timeout = std::chrono::hours(1),
    .make_params = make_params<Params>,
    .check = check_with<Params, check>,
    .plan = plan_with<Params, plan>,
    .apply = apply_with<Params, apply_patiently>,
};

}  // namespace states::linux_apt_package
