// linux.yum.package: rpm packages that are installed, in a certain version, or gone.
#include <algorithm>
#include <cctype>

#include "states/linux_yum_package/applying.hpp"
#include "states/linux_yum_package/planning.hpp"
#include "states/state.hpp"

namespace states::linux_yum_package {

namespace {

constexpr auto kParams = param_table(
    param<&Params::name>(
        "name",
        "packages, each with what is wanted of it: installed, latest, removed, a version, or "
        "an .rpm file")
        .names()
        .required(),
    param<&Params::repo>("repo", "use only this repository, or these, with commas between").alias("fromrepo"),
    param<&Params::verify_gpg>("verify-gpg", "check the signatures of packages")
        .fallback("true")
        .alias("verify_gpg"),
    param<&Params::allow_removals>("allow_removals",
                                   "also remove packages that `name` does not name, when dnf would: what "
                                   "depends on a removed one, or conflicts with a new one")
        .fallback("false")
        .alias("allow-removals"));

class YumPackage final : public State<Params, Steps> {
 public:
  constexpr YumPackage()
      : State({.name = "linux.yum.package",
               .summary = "Red Hat's packages that are installed, in a certain version, or gone",
               .family = Family::rhel,
               .timeout = std::chrono::hours(1)},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override {
    if (auto request = read_request(params.name); !request) return std::move(request).error();
    const auto is_legal = [](unsigned char c) {
      return std::isalnum(c) != 0 ||
             std::string_view("._:,+-").find(static_cast<char>(c)) != std::string_view::npos;
    };
    if (params.repo && (params.repo->starts_with('-') || !std::ranges::all_of(*params.repo, is_legal)))
      return base::Error(base::ErrorCode::invalid,
                         "Illegal value for 'repo': '" + std::string(*params.repo) + "'");
    return {};
  }
  PlanWith<Steps> plan(const Params& params, Context& context) const override {
    return plan_packages(params, context);
  }
  Applied apply(const Params& params, const Plan&, const Steps& steps, ApplyContext& context) const override {
    return apply_packages(params, steps, context);
  }
  std::vector<Effect> touched(const Params& params) const override {
    std::vector<Effect> touched;
    if (const auto request = read_request(params.name))
      for (const Entry& entry : request->entries)
        touched.push_back({.kind = EffectKind::package, .name = entry.whole_name()});
    return touched;
  }
};

constexpr YumPackage kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_yum_package
