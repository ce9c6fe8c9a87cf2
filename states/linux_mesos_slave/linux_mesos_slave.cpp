// linux.mesos.slave: Mesos' slave and its haproxy, configured and running.
#include <algorithm>

#include "base/programs/process.hpp"
#include "states/mesos/mesos.hpp"
#include "states/state.hpp"

namespace states::linux_mesos_slave {

namespace {

struct Params {
  Pairs masters_addresses;
  Pairs attributes;
  std::string_view slave_ip;
};

constexpr auto kParams = param_table(
    param<&Params::masters_addresses>(
        "masters_addresses", "addresses of all masters, in the order of ZooKeeper's servers; value: the name")
        .required()
        .fallback("value: the address"),
    param<&Params::attributes>("attributes", "what the slave says of itself").required(),
    param<&Params::slave_ip>("slave_ip", "address of this slave").required());

class MesosSlave final : public State<Params> {
 public:
  constexpr MesosSlave()
      : State({.name = "linux.mesos.slave", .summary = "A slave of Mesos, configured and running"}, kParams) {
  }

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<NoSteps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const NoSteps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

// "rack:a;disk:ssd"
base::Result<std::string> attributes_text(Pairs attributes) {
  std::string text;
  for (const Pair& pair : attributes) {
    if (pair.key.empty()) continue;
    for (const std::string_view word : {pair.key, pair.value})
      if (!std::ranges::none_of(word, [](unsigned char c) { return c < ' ' || c == 0x7f || c == ';'; }) ||
          (word.data() == pair.key.data() && word.find(':') != word.npos))
        return base::Error(base::ErrorCode::invalid,
                           "Illegal value for 'attributes': '" + std::string(word) + "'");
    text.append(text.empty() ? "" : ";").append(pair.key).append(":").append(pair.value);
  }
  if (text.empty())
    return base::Error(base::ErrorCode::invalid, "Parameter 'attributes' has no usable entry");
  return text;
}

base::Result<void> MesosSlave::check(const Params& params) const {
  if (auto masters = mesos::masters_of(params.masters_addresses); !masters) return std::move(masters).error();
  if (auto text = attributes_text(params.attributes); !text) return std::move(text).error();
  return mesos::check_address("slave_ip", params.slave_ip);
}

mesos::Node node_of(const Params& params) {
  const std::vector<mesos::Master> masters = *mesos::masters_of(params.masters_addresses);
  const std::string address = std::string(params.slave_ip) + "\n";
  std::string marathons;
  for (const mesos::Master& master : masters)
    marathons += master.name + ":8080\n";
  // Later versions call it an agent.
  const bool is_agent = !base::find_program("mesos-slave") && base::find_program("mesos-agent");
  mesos::Node node{.programs = {"mesos-slave", "mesos-agent"},
                   .masters = masters,
                   .host_name = {},
                   .services = {},
                   .opposite = "mesos-master"};
  node.services.push_back({"haproxy", {{"/etc/haproxy-marathon-bridge/marathons", marathons}}});
  node.services.push_back({is_agent ? "mesos-agent" : "mesos-slave",
                           {{"/etc/mesos/zk", mesos::zookeeper_by_address(masters, "/mesos") + "\n"},
                            {"/etc/mesos-slave/ip", address},
                            {"/etc/mesos-slave/hostname", address},
                            {"/etc/mesos-slave/containerizers", "docker,mesos\n"},
                            {"/etc/mesos-slave/executor_registration_timeout", "5mins\n"},
                            {"/etc/mesos-slave/attributes", *attributes_text(params.attributes) + "\n"}}});
  return node;
}

PlanWith<NoSteps> MesosSlave::plan(const Params& params, Context& context) const {
  return mesos::plan_node(node_of(params), context);
}

Applied MesosSlave::apply(const Params& params, const Plan&, const NoSteps&, ApplyContext& context) const {
  return mesos::apply_node(node_of(params), context);
}

std::vector<Effect> MesosSlave::touched(const Params& params) const {
  return mesos::effects_of(node_of(params));
}

constexpr MesosSlave kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_mesos_slave
