// linux.mesos.master: ZooKeeper, Mesos' master and, if asked for, Marathon, configured and running.
#include <algorithm>

#include "base/text.hpp"
#include "states/mesos/mesos.hpp"
#include "states/state.hpp"

namespace states::linux_mesos_master {

namespace {

struct Params {
  Pairs masters_addresses;
  std::string_view cluster_name;
  std::string_view server_id;
  std::string_view master_ip;
  std::string_view hostname;
  List framework;
};

constexpr auto kParams = param_table(
    param<&Params::masters_addresses>(
        "masters_addresses", "addresses of all masters, in the order of ZooKeeper's servers; value: the name")
        .required()
        .fallback("value: the address"),
    param<&Params::cluster_name>("cluster_name", "name of the cluster").required(),
    param<&Params::server_id>("server_id", "number of this server of ZooKeeper, from 1 on").required(),
    param<&Params::master_ip>("master_ip", "address of this master").required(),
    param<&Params::hostname>("hostname", "name that the machine gets").fallback("its own stays"),
    param<&Params::framework>("framework", "`marathon`, which is the only one known").fallback("none"));

class MesosMaster final : public State<Params> {
 public:
  constexpr MesosMaster()
      : State({.name = "linux.mesos.master", .summary = "A master of Mesos, configured and running"},
              kParams) {}

 private:
  base::Result<void> check(const Params& params) const override;
  PlanWith<NoSteps> plan(const Params& params, Context& context) const override;
  Applied apply(const Params& params, const Plan& plan, const NoSteps& steps,
                ApplyContext& context) const override;
  std::vector<Effect> touched(const Params& params) const override;
};

base::Error invalid(std::string message) {
  return {base::ErrorCode::invalid, std::move(message)};
}

base::Result<void> MesosMaster::check(const Params& params) const {
  constexpr std::int64_t kMostServers = 255;
  const auto masters = mesos::masters_of(params.masters_addresses);
  if (!masters) return masters.error();
  if (auto fine = mesos::check_line("cluster_name", params.cluster_name); !fine) return fine;
  if (auto fine = mesos::check_address("master_ip", params.master_ip); !fine) return fine;
  if (!params.hostname.empty())
    if (auto fine = mesos::check_host_name("hostname", params.hostname); !fine) return fine;
  const auto number = base::parse_integer(params.server_id);
  if (!number || *number < 1 || *number > kMostServers)
    return invalid("Illegal value for 'server_id': '" + std::string(params.server_id) +
                   "': give a number from 1 to 255");
  for (const std::string_view framework : params.framework)
    if (framework != "marathon")
      return invalid("Illegal value for 'framework': '" + std::string(framework) + "'");
  return {};
}

std::string zookeeper_config(const std::vector<mesos::Master>& masters) {
  std::string text =
      "tickTime=2000\ninitLimit=10\nsyncLimit=5\ndataDir=/var/lib/zookeeper\nclientPort=2181\n";
  for (std::size_t at = 0; at < masters.size(); ++at)
    text += "server." + std::to_string(at + 1) + "=" + masters[at].address + ":2888:3888\n";
  return text;
}

mesos::Node node_of(const Params& params) {
  const std::vector<mesos::Master> masters = *mesos::masters_of(params.masters_addresses);
  const std::string address = std::string(params.master_ip) + "\n";
  mesos::Node node{.programs = {"mesos-master"},
                   .masters = masters,
                   .host_name = std::string(params.hostname),
                   .services = {},
                   .opposite = "mesos-slave"};
  node.services.push_back({"zookeeper",
                           {{"/var/lib/zookeeper/myid", std::string(params.server_id) + "\n"},
                            {"/etc/zookeeper/conf/zoo.cfg", zookeeper_config(masters)}}});
  node.services.push_back({"mesos-master",
                           {{"/etc/mesos/zk", mesos::zookeeper_by_address(masters, "/mesos") + "\n"},
                            {"/etc/mesos-master/quorum", std::to_string(masters.size() / 2 + 1) + "\n"},
                            {"/etc/mesos-master/ip", address},
                            {"/etc/mesos-master/hostname", address},
                            {"/etc/mesos-master/cluster", std::string(params.cluster_name) + "\n"}}});
  if (!params.framework.empty())
    node.services.push_back(
        {"marathon",
         {{"/etc/marathon/conf/hostname", address},
          {"/etc/marathon/conf/master", mesos::zookeeper_by_name(masters, "/mesos") + "\n"},
          {"/etc/marathon/conf/zk", mesos::zookeeper_by_name(masters, "/marathon") + "\n"}}});
  return node;
}

PlanWith<NoSteps> MesosMaster::plan(const Params& params, Context& context) const {
  return mesos::plan_node(node_of(params), context);
}

Applied MesosMaster::apply(const Params& params, const Plan&, const NoSteps&, ApplyContext& context) const {
  return mesos::apply_node(node_of(params), context);
}

std::vector<Effect> MesosMaster::touched(const Params& params) const {
  return mesos::effects_of(node_of(params));
}

constexpr MesosMaster kType;

}  // namespace

extern const StateType& kState;
constinit const StateType& kState = kType;

}  // namespace states::linux_mesos_master
