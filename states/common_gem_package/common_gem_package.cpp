// common.gem.package: packages of Ruby.
#include "states/common_gem_package/gem.hpp"
#include "states/language_packages/applying.hpp"
#include "states/language_packages/planning.hpp"
#include "states/state.hpp"

namespace states::common_gem_package {

namespace {

using language_packages::Steps;

struct Params {
  Pairs name;
};

constexpr auto kParams =
    param_table(param<&Params::name>(
                    "name",
                    "packages, each with what is wanted of it: installed, latest, removed, a version, or "
                    "a requirement such as '~> 1.2'")
                    .names()
                    .required());

class GemPackage final : public State<Params, Steps> {
 public:
  constexpr GemPackage()
      : State({.name = "common.gem.package",
               .summary = "Packages of Ruby, by gem",
               .timeout = std::chrono::hours(1)},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override {
    auto entries = language_packages::read_entries(params.name, Gem());
    return entries ? base::Result<void>() : base::Result<void>(std::move(entries).error());
  }
  PlanWith<Steps> plan(const Params& params, Context& context) const override {
    return language_packages::plan_packages(Gem(), params.name, context);
  }
  Applied apply(const Params&, const Plan&, const Steps& steps, ApplyContext& context) const override {
    return language_packages::apply_packages(Gem(), steps, context);
  }
  std::vector<Effect> touched(const Params& params) const override {
    return language_packages::packages_touched(Gem(), params.name);
  }
};

constexpr GemPackage kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::common_gem_package
