// linux.apt.package: Debian packages that are installed, in a certain version, or gone.
#include "base/tree/tree.hpp"
#include "states/linux_apt_package/applying.hpp"
#include "states/linux_apt_package/apt_package.hpp"
#include "states/linux_apt_package/entry.hpp"

namespace states::linux_apt_package {

base::Result<void> AptPackage::check(const Params& params) const {
  auto request = read_request(params.name);
  if (!request) return std::move(request).error();
  if (params.repo &&
      (params.repo->starts_with('-') || params.repo->find_first_of(" \t\n") != params.repo->npos))
    return base::Error(base::ErrorCode::invalid,
                       "Illegal value for 'repo': '" + std::string(*params.repo) + "'");
  if (params.deb_conf_file)
    if (auto path = base::clean_path(*params.deb_conf_file); !path) return std::move(path).error();
  return {};
}

std::vector<Effect> AptPackage::touched(const Params& params) const {
  std::vector<Effect> touched;
  if (const auto request = read_request(params.name))
    for (const Entry& entry : request->entries)
      touched.push_back({.kind = EffectKind::package, .name = entry.name});
  return touched;
}

PlanWith<Steps> AptPackage::plan(const Params& params, Context& context) const {
  return plan_packages(params, context);
}

Applied AptPackage::apply(const Params& params, const Plan&, const Steps& steps,
                          ApplyContext& context) const {
  return apply_packages(params, steps, context, patience_);
}

namespace {

constexpr AptPackage kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_apt_package
