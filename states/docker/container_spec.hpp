// What a container is made of: the parameters that linux.docker.running and linux.docker.deploy share,
// checked, and as the engine's API takes them. Text only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/docker/reference.hpp"
#include "states/param.hpp"

namespace states::docker {

// As the recipe says it.
struct ContainerParams {
  std::string_view container;
  std::string_view image;
  std::string_view tag;
  std::string_view count;
  List command;
  List entry_point;
  Pairs environment;
  Pairs volumes;        // host path or name -> container path[:ro]
  Pairs files;          // container path -> host path
  Pairs devices;        // host path -> container path[:rwm]
  Pairs port_bindings;  // port[/protocol] -> [address:]port of the host
  std::string_view mem_limit;
  std::string_view cpu_shares;
  bool publish_all_ports = false;
  Pairs links;  // container -> alias
  // Not of a container: what to do with it.
  bool force = false;
  Watch watch;
  std::string_view username;
  std::string_view password;
  std::string_view email;
};

struct PortBinding {
  std::string port;     // "80/tcp"
  std::string address;  // "0.0.0.0"
  int host_port = 0;
};

// The same, understood.
struct ContainerSpec {
  std::string name;  // of one container; with a count the first part of each name
  Reference image;
  int count = 0;  // 0: one container, without a number
  std::vector<std::string> command, entry_point, environment, binds, links;
  struct Device {
    std::string on_host, in_container, rights;
  };
  std::vector<Device> devices;
  std::vector<PortBinding> ports;
  std::int64_t memory = 0;      // bytes; 0: no limit
  std::int64_t cpu_shares = 0;  // 0: as all
  std::string cpus;             // "0-3"; "": all
  bool publish_all_ports = false;
  std::string files_hash;  // of what is in files that are seen in it; a part of the fingerprint only

  // "web", or "web_1" … "web_3".
  std::vector<std::string> names() const;
  // Equal for equal parameters of the same state; nothing can be read from it.
  std::string fingerprint(std::string_view state_id) const;
  // For POST /containers/create; `index`: of the container, from 0 on.
  std::string json(std::size_t index, std::string_view state_id) const;
};

// An error: "Illegal value for 'mem_limit': '12x'", "Host ports overlap for count 3".
base::Result<ContainerSpec> understand(const ContainerParams& params);

}  // namespace states::docker
