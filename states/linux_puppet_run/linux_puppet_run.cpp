// linux.puppet.run: one run of Puppet's agent with the server of its own configuration, in every round.
#include "base/text.hpp"
#include "states/puppet/puppet.hpp"
#include "states/state.hpp"

namespace states::linux_puppet_run {

namespace {

struct Params {
  Pairs arguments;
  std::string_view version;
};

constexpr auto kParams =
    param_table(param<&Params::arguments>(
                    "arguments",
                    "options of `puppet agent`, without dashes; value: the option's. Old recipes have "
                    "the sub-command, `agent` or `apply`, in front")
                    .fallback("none"),
                param<&Params::version>("version", "version of Puppet, or its beginning").fallback("any"));

class PuppetRun final : public State<Params> {
 public:
  constexpr PuppetRun()
      : State({.name = "linux.puppet.run",
               .summary = "A run of Puppet's agent, in every round",
               .rereadable = false},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<NoSteps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const NoSteps& steps,
                ApplyContext& context) const override;
};

// The sub-command of old recipes, and what follows it.
bool names_apply(const Params& params) {
  return !params.arguments.empty() && params.arguments.front().value.empty() &&
         params.arguments.front().key == "apply";
}
Pairs options_of(const Params& params) {
  if (params.arguments.empty() || !params.arguments.front().value.empty()) return params.arguments;
  const std::string_view first = params.arguments.front().key;
  return first == "apply" || first == "agent" ? params.arguments.subspan(1) : params.arguments;
}

puppet::Run run_of(const Params& params) {
  return {"linux.puppet.run", *puppet::arguments_of(options_of(params)), params.version};
}

base::Result<void> PuppetRun::check(const Params& params) const {
  if (auto arguments = puppet::arguments_of(options_of(params)); !arguments)
    return std::move(arguments).error();
  return puppet::check_version(params.version);
}

PlanWith<NoSteps> PuppetRun::plan(const Params& params, Context& context) const {
  Plan plan{.verdict = Verdict::change, .message = "Run Puppet"};
  plan.changes.push_back({.what = "puppet", .before = "", .after = "run, as in every round"});
  if (auto planned = puppet::plan(run_of(params), plan, context); !planned)
    return Plan::fail(planned.error());
  plan.effects.push_back({.kind = EffectKind::anything, .name = "puppet agent"});
  return plan;
}

Applied PuppetRun::apply(const Params& params, const Plan&, const NoSteps&, ApplyContext& context) const {
  const std::vector<std::string> words =
      names_apply(params) ? std::vector<std::string>{"apply", "--detailed-exitcodes", "--color=false"}
                          : puppet::agent_words();
  return puppet::run_once(run_of(params), words, context);
}

constexpr PuppetRun kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_puppet_run
