// A node of Mesos: configuration files, names of the masters, and services that run with them. Mesos itself
// must be installed: nobody offers packages any more.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/param.hpp"
#include "states/plan.hpp"

namespace states::mesos {

struct Master {
  std::string address;
  std::string name;  // the address where the recipe has none
};
// In the recipe's order, which is that of ZooKeeper's servers. An error: "Illegal value for '…': '…'".
base::Result<std::vector<Master>> masters_of(Pairs addresses);

// "zk://10.0.0.1:2181,10.0.0.2:2181/mesos"
std::string zookeeper_by_address(const std::vector<Master>& masters, std::string_view path);
std::string zookeeper_by_name(const std::vector<Master>& masters, std::string_view path);

// An IPv4 address, the only kind that Mesos knows; a host name; one line without control characters. Errors
// as above.
base::Result<void> check_address(std::string_view param, std::string_view text);
base::Result<void> check_host_name(std::string_view param, std::string_view text);
base::Result<void> check_line(std::string_view param, std::string_view text);

struct ConfigFile {
  std::string path;
  std::string content;
};
struct NodeService {
  std::string name;
  std::vector<ConfigFile> files;  // it restarts when one of them is another than when it last started
};
struct Node {
  std::vector<std::string_view> programs;  // one of them must be there
  std::vector<Master> masters;
  std::string host_name;  // "": the machine's stays
  std::vector<NodeService> services;
  std::string opposite;  // a service that must not run beside them
};

// /etc/hosts with a line for each master that has a name and is not in it yet.
std::string put_hosts(std::string_view hosts, const std::vector<Master>& masters);

Plan plan_node(const Node& node, Context& context);
Applied apply_node(const Node& node, ApplyContext& context);
std::vector<Effect> effects_of(const Node& node);

}  // namespace states::mesos
