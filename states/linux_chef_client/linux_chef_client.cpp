// linux.chef.client: one run of Chef's client with this server, in every round.
#include "states/chef/chef.hpp"
#include "states/state.hpp"

namespace states::linux_chef_client {

namespace {

struct Params {
  std::string_view server;
  std::string_view client_key;
  std::string_view config;
  Pairs arguments;
  std::string_view version;
};

constexpr auto kParams = param_table(
    param<&Params::server>("server", "address of the Chef server").required(),
    param<&Params::client_key>("client_key", "file with the client's private key").fallback("Chef's own"),
    param<&Params::config>("config", "file, or address, of the configuration")
        .fallback("/etc/chef/client.rb"),
    param<&Params::arguments>("arguments", "options of `chef-client`, without dashes; value: the option's")
        .fallback("none"),
    param<&Params::version>("version", "version that must be installed, or its beginning").fallback("any"));

class ChefClient final : public State<Params> {
 public:
  constexpr ChefClient()
      : State({.name = "linux.chef.client",
               .summary = "A run of Chef's client, in every round",
               .rereadable = false},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<NoSteps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const NoSteps& steps,
                ApplyContext& context) const override;
};

chef::Run run_of(const Params& params) {
  chef::Run run{.kind = chef::Kind::client,
                .words = {"--server", std::string(params.server)},
                .arguments = params.arguments,
                .version = params.version};
  if (!params.client_key.empty())
    run.words.insert(run.words.end(), {"--client_key", std::string(params.client_key)});
  if (!params.config.empty()) run.words.insert(run.words.end(), {"--config", std::string(params.config)});
  // Whatever its configuration says of intervals: the run ends.
  run.words.emplace_back("--once");
  return run;
}

base::Result<void> ChefClient::check(const Params& params) const {
  if (auto fine = chef::check_place("server", params.server); !fine) return fine;
  if (auto fine = chef::check_path("client_key", params.client_key); !fine) return fine;
  if (auto fine = chef::check_place("config", params.config); !fine) return fine;
  return chef::check_run(run_of(params));
}

PlanWith<NoSteps> ChefClient::plan(const Params& params, Context& context) const {
  return chef::plan_run(run_of(params), "Run Chef with the server " + std::string(params.server), context);
}

Applied ChefClient::apply(const Params& params, const Plan&, const NoSteps&, ApplyContext& context) const {
  return chef::apply_run(run_of(params), context);
}

constexpr ChefClient kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_chef_client
