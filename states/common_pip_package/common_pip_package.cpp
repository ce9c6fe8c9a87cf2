// common.pip.package: Python packages of the system's own interpreter.
#include "states/common_pip_package/pip.hpp"
#include "states/language_packages/applying.hpp"
#include "states/language_packages/planning.hpp"
#include "states/state.hpp"

namespace states::common_pip_package {

namespace {

using language_packages::Steps;

struct Params {
  Pairs name;
  std::optional<std::string_view> install_options;
};

constexpr auto kParams =
    param_table(param<&Params::name>(
                    "name",
                    "packages, each with what is wanted of it: installed, latest, removed, a version, or "
                    "a specifier such as '>=2, <3'")
                    .names()
                    .required(),
                param<&Params::install_options>("install_options",
                                                "has no effect: the options of setup.py are gone from pip"));

class PipPackage final : public State<Params, Steps> {
 public:
  constexpr PipPackage()
      : State({.name = "common.pip.package",
               .summary = "Python packages of the system's interpreter, by pip",
               .timeout = std::chrono::hours(1)},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override {
    auto entries = language_packages::read_entries(params.name, Pip());
    return entries ? base::Result<void>() : base::Result<void>(std::move(entries).error());
  }
  PlanWith<Steps> plan(const Params& params, Context& context) const override {
    return language_packages::plan_packages(Pip(), params.name, context);
  }
  Applied apply(const Params& params, const Plan&, const Steps& steps, ApplyContext& context) const override {
    Applied applied = language_packages::apply_packages(Pip(), steps, context);
    if (params.install_options)
      applied.output.insert(0, "install_options has no effect: the options of setup.py are gone from pip\n");
    return applied;
  }
  std::vector<Effect> touched(const Params& params) const override {
    return language_packages::packages_touched(Pip(), params.name);
  }
};

constexpr PipPackage kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::common_pip_package
