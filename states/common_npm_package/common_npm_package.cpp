// common.npm.package: packages of JavaScript.
#include "base/tree/tree.hpp"
#include "states/common_npm_package/npm.hpp"
#include "states/language_packages/applying.hpp"
#include "states/language_packages/planning.hpp"
#include "states/state.hpp"

namespace states::common_npm_package {

namespace {

using language_packages::Steps;

struct Params {
  Pairs name;
  std::optional<std::string_view> path;
};

constexpr auto kParams = param_table(
    param<&Params::name>("name",
                         "packages, each with what is wanted of it: installed, latest, removed, a version, a "
                         "range such as '^1.2', or a tag of the registry")
        .names()
        .required(),
    param<&Params::path>("path", "folder to install below, in node_modules; its owner runs npm")
        .names()
        .fallback("for the whole machine"));

base::Result<Npm> npm_of(const Params& params) {
  if (!params.path) return Npm();
  auto path = base::clean_path(*params.path);
  if (!path) return std::move(path).error();
  if (*path == "/") return base::Error(base::ErrorCode::invalid, "Illegal value for 'path': '/'");
  return Npm(std::move(*path));
}

class NpmPackage final : public State<Params, Steps> {
 public:
  constexpr NpmPackage()
      : State({.name = "common.npm.package",
               .summary = "Packages of JavaScript, by npm",
               .timeout = std::chrono::hours(1)},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override {
    auto npm = npm_of(params);
    if (!npm) return std::move(npm).error();
    auto entries = language_packages::read_entries(params.name, *npm);
    return entries ? base::Result<void>() : base::Result<void>(std::move(entries).error());
  }
  PlanWith<Steps> plan(const Params& params, Context& context) const override {
    auto npm = npm_of(params);
    if (!npm) return Plan::fail(npm.error());
    return language_packages::plan_packages(*npm, params.name, context);
  }
  Applied apply(const Params& params, const Plan&, const Steps& steps, ApplyContext& context) const override {
    auto npm = npm_of(params);
    if (!npm) return Applied::failed(npm.error());
    return language_packages::apply_packages(*npm, steps, context);
  }
  std::vector<Effect> touched(const Params& params) const override {
    auto npm = npm_of(params);
    if (!npm) return {};
    std::vector<Effect> touched = language_packages::packages_touched(*npm, params.name);
    if (!npm->place().empty())
      touched.push_back({.kind = EffectKind::directory, .name = std::string(npm->place())});
    return touched;
  }
};

constexpr NpmPackage kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::common_npm_package
