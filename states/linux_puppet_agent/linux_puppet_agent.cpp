// linux.puppet.agent: one run of Puppet's agent with this server, in every round.
#include <algorithm>
#include <cctype>

#include "states/puppet/puppet.hpp"
#include "states/state.hpp"

namespace states::linux_puppet_agent {

namespace {

struct Params {
  std::string_view server;
  Pairs arguments;
  std::string_view version;
};

constexpr auto kParams = param_table(
    param<&Params::server>("server", "host name of the Puppet server").required(),
    param<&Params::arguments>("arguments", "options of `puppet agent`, without dashes; value: the option's")
        .fallback("none"),
    param<&Params::version>("version", "version of Puppet, or its beginning").fallback("any"));

class PuppetAgent final : public State<Params> {
 public:
  constexpr PuppetAgent()
      : State({.name = "linux.puppet.agent",
               .summary = "A run of Puppet's agent with a certain server, in every round",
               .rereadable = false},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<NoSteps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const NoSteps& steps,
                ApplyContext& context) const override;
};

puppet::Run run_of(const Params& params) {
  return {"linux.puppet.agent", *puppet::arguments_of(params.arguments), params.version};
}

base::Result<void> PuppetAgent::check(const Params& params) const {
  const bool is_host = !params.server.starts_with('-') && !params.server.starts_with('.') &&
                       std::ranges::all_of(params.server, [](unsigned char c) {
                         return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':';
                       });
  if (!is_host)
    return base::Error(base::ErrorCode::invalid,
                       "Illegal value for 'server': '" + std::string(params.server) + "'");
  if (auto arguments = puppet::arguments_of(params.arguments); !arguments)
    return std::move(arguments).error();
  return puppet::check_version(params.version);
}

PlanWith<NoSteps> PuppetAgent::plan(const Params& params, Context& context) const {
  Plan plan{.verdict = Verdict::change,
            .message = "Run Puppet with the server " + std::string(params.server)};
  plan.changes.push_back({.what = "puppet", .before = "", .after = "run, as in every round"});
  if (auto planned = puppet::plan(run_of(params), plan, context); !planned)
    return Plan::fail(planned.error());
  plan.effects.push_back({.kind = EffectKind::anything, .name = "puppet agent"});
  return plan;
}

Applied PuppetAgent::apply(const Params& params, const Plan&, const NoSteps&, ApplyContext& context) const {
  std::vector<std::string> words = puppet::agent_words();
  words.push_back("--server=" + std::string(params.server));
  return puppet::run_once(run_of(params), std::move(words), context);
}

constexpr PuppetAgent kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_puppet_agent
