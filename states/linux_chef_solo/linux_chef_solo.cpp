// linux.chef.solo: one run of Chef without a server, in every round.
#include "states/chef/chef.hpp"
#include "states/state.hpp"

namespace states::linux_chef_solo {

namespace {

struct Params {
  std::string_view config;
  std::string_view recipe_url;
  std::string_view override_runlist;
  Pairs arguments;
  std::string_view version;
};

constexpr auto kParams = param_table(
    param<&Params::config>("config", "file, or address, of the configuration; recommended")
        .fallback("/etc/chef/solo.rb"),
    param<&Params::recipe_url>("recipe_url", "archive with the cookbooks").fallback("those of `config`"),
    param<&Params::override_runlist>("override-runlist", "what to run, such as `recipe[web]`")
        .alias("override_runlist")
        .fallback("the node's"),
    param<&Params::arguments>("arguments", "options of `chef-solo`, without dashes; value: the option's")
        .fallback("none"),
    param<&Params::version>("version", "version that must be installed, or its beginning").fallback("any"));

class ChefSolo final : public State<Params> {
 public:
  constexpr ChefSolo()
      : State({.name = "linux.chef.solo",
               .summary = "A run of Chef without a server, in every round",
               .rereadable = false},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<NoSteps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const NoSteps& steps,
                ApplyContext& context) const override;
};

chef::Run run_of(const Params& params) {
  chef::Run run{
      .kind = chef::Kind::solo, .words = {}, .arguments = params.arguments, .version = params.version};
  const std::pair<const char*, std::string_view> options[] = {
      {"--config", params.config},
      {"--recipe-url", params.recipe_url},
      {"--override-runlist", params.override_runlist}};
  for (const auto& [name, value] : options)
    if (!value.empty()) run.words.insert(run.words.end(), {name, std::string(value)});
  return run;
}

base::Result<void> ChefSolo::check(const Params& params) const {
  if (auto fine = chef::check_place("config", params.config); !fine) return fine;
  if (auto fine = chef::check_place("recipe_url", params.recipe_url); !fine) return fine;
  if (auto fine = chef::check_place("override-runlist", params.override_runlist); !fine) return fine;
  return chef::check_run(run_of(params));
}

PlanWith<NoSteps> ChefSolo::plan(const Params& params, Context& context) const {
  return chef::plan_run(run_of(params), "Run Chef without a server", context);
}

Applied ChefSolo::apply(const Params& params, const Plan&, const NoSteps&, ApplyContext& context) const {
  return chef::apply_run(run_of(params), context);
}

constexpr ChefSolo kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_chef_solo
