#include "states/docker/container_spec.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "states/docker/containers.hpp"

namespace states::docker {

namespace {

constexpr int kMostInstances = 1000;
constexpr int kHighestPort = 65535;

base::Error illegal(std::string_view param, std::string_view value, std::string_view why = {}) {
  return {base::ErrorCode::invalid, "Illegal value for '" + std::string(param) + "': '" + std::string(value) +
                                        "'" + (why.empty() ? "" : ": " + std::string(why))};
}

std::optional<int> port_number(std::string_view text) {
  const auto number = base::parse_integer(text);
  if (!number || *number < 1 || *number > kHighestPort) return std::nullopt;
  return static_cast<int>(*number);
}

base::Result<PortBinding> port_binding(const Pair& pair) {
  const std::size_t slash = pair.key.find('/');
  const std::string_view protocol = slash == pair.key.npos ? "tcp" : pair.key.substr(slash + 1);
  const auto inside = port_number(pair.key.substr(0, slash));
  const std::size_t colon = pair.value.rfind(':');
  const auto outside = port_number(colon == pair.value.npos ? pair.value : pair.value.substr(colon + 1));
  std::string_view address = colon == pair.value.npos ? "0.0.0.0" : pair.value.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  const bool is_address = !address.empty() && std::ranges::all_of(address, [](unsigned char c) {
    return std::isxdigit(c) != 0 || c == '.' || c == ':';
  });
  if (!inside || !outside || !is_address || (protocol != "tcp" && protocol != "udp" && protocol != "sctp"))
    return illegal("port_bindings", std::string(pair.key) + " -> " + std::string(pair.value),
                   "give '80' or '53/udp', and '8080' or '127.0.0.1:8080'");
  return PortBinding{std::to_string(*inside) + "/" + std::string(protocol), std::string(address), *outside};
}

base::Result<void> read_ports(Pairs pairs, ContainerSpec& spec) {
  for (const Pair& pair : pairs) {
    if (pair.key.empty() || pair.value.empty()) continue;
    auto binding = port_binding(pair);
    if (!binding) return std::move(binding).error();
    spec.ports.push_back(std::move(*binding));
  }
  // Each container has the port of the one before it, plus one.
  const int wide = std::max(spec.count, 1);
  for (std::size_t a = 0; a < spec.ports.size(); ++a) {
    if (spec.ports[a].host_port + wide - 1 > kHighestPort)
      return illegal("port_bindings", std::to_string(spec.ports[a].host_port),
                     "the last container would have a port above 65535");
    for (std::size_t b = 0; b < a; ++b) {
      const std::string_view a_port = spec.ports[a].port;
      const std::string_view b_port = spec.ports[b].port;
      const bool same_protocol = a_port.substr(a_port.find('/')) == b_port.substr(b_port.find('/'));
      if (same_protocol && std::abs(spec.ports[a].host_port - spec.ports[b].host_port) < wide &&
          (spec.ports[a].address == spec.ports[b].address || spec.ports[a].address == "0.0.0.0" ||
           spec.ports[b].address == "0.0.0.0"))
        return base::Error(base::ErrorCode::invalid, "Host ports overlap for count " + std::to_string(wide));
    }
  }
  return {};
}

bool is_container_path(std::string_view text) {
  return text.starts_with('/') && text.find(':') == text.npos && text.find('\0') == text.npos;
}

bool is_volume_name(std::string_view text) {
  return is_container_name(text);
}

base::Result<void> read_binds(const ContainerParams& params, ContainerSpec& spec) {
  for (const Pair& pair : params.volumes) {
    if (pair.key.empty() || pair.value.empty()) continue;
    const std::size_t colon = pair.value.find(':');
    const std::string_view options = colon == pair.value.npos ? "" : pair.value.substr(colon + 1);
    if ((!is_container_path(pair.key) && !is_volume_name(pair.key)) ||
        !is_container_path(pair.value.substr(0, colon)) ||
        std::ranges::any_of(options, [](unsigned char c) { return std::isalnum(c) == 0 && c != ','; }))
      return illegal("volumes", std::string(pair.key) + " -> " + std::string(pair.value),
                     "give an absolute path or the name of a volume, and '/path' or '/path:ro'");
    spec.binds.push_back(std::string(pair.key) + ":" + std::string(pair.value));
  }
  for (const Pair& pair : params.files) {
    if (pair.key.empty() || pair.value.empty()) continue;
    if (!is_container_path(pair.key) || !is_container_path(pair.value))
      return illegal("files", std::string(pair.key) + " -> " + std::string(pair.value),
                     "give two absolute paths without colons");
    spec.binds.push_back(std::string(pair.value) + ":" + std::string(pair.key));
  }
  return {};
}

base::Result<void> read_devices(Pairs pairs, ContainerSpec& spec) {
  for (const Pair& pair : pairs) {
    if (pair.key.empty() || pair.value.empty()) continue;
    const std::size_t colon = pair.value.find(':');
    const std::string_view path = pair.value.substr(0, colon);
    const std::string_view rights = colon == pair.value.npos ? "rwm" : pair.value.substr(colon + 1);
    if (!is_container_path(pair.key) || !is_container_path(path) || rights.empty() ||
        rights.find_first_not_of("rwm") != rights.npos)
      return illegal("devices", std::string(pair.key) + " -> " + std::string(pair.value),
                     "give the device's path, and '/dev/path' or '/dev/path:rw'");
    spec.devices.push_back({std::string(pair.key), std::string(path), std::string(rights)});
  }
  return {};
}

base::Result<void> read_memory(std::string_view text, ContainerSpec& spec) {
  if (text.empty()) return {};
  constexpr std::string_view kUnits = "bkmgt";
  std::int64_t unit = 1;
  std::string_view digits = text;
  const std::size_t at =
      kUnits.find(static_cast<char>(std::tolower(static_cast<unsigned char>(text.back()))));
  if (at != kUnits.npos) {
    unit = 1LL << (10 * at);
    digits.remove_suffix(1);
  }
  const auto number = base::parse_integer(digits);
  if (!number || *number < 0 || *number > (1LL << 60) / unit) return illegal("mem_limit", text);
  spec.memory = *number * unit;
  return {};
}

// "0-3", "0,2", "0", "1": which processors; a number from 2 on: shares.
base::Result<void> read_cpus(std::string_view text, ContainerSpec& spec) {
  if (text.empty()) return {};
  const auto number = base::parse_integer(text);
  if (number && *number >= 2 && *number <= (1 << 18)) {
    spec.cpu_shares = *number;
    return {};
  }
  for (const std::string_view part : base::split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = base::parse_integer(part.substr(0, dash));
    const auto last = dash == part.npos ? first : base::parse_integer(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > 4096) return illegal("cpu_shares", text);
  }
  spec.cpus = text;
  return {};
}

base::Result<void> read_pairs(const ContainerParams& params, ContainerSpec& spec) {
  for (const Pair& pair : params.environment) {
    if (pair.key.empty()) continue;
    if (pair.key.find('=') != pair.key.npos) return illegal("environment", pair.key);
    spec.environment.push_back(std::string(pair.key) + "=" + std::string(pair.value));
  }
  for (const Pair& pair : params.links) {
    if (pair.key.empty() || pair.value.empty()) continue;
    if (!is_container_name(pair.key) || !is_container_name(pair.value))
      return illegal("links", std::string(pair.key) + " -> " + std::string(pair.value));
    spec.links.push_back(std::string(pair.key) + ":" + std::string(pair.value));
  }
  return {};
}

std::string array(const std::vector<std::string>& texts) {
  std::string json = "[";
  for (const std::string& text : texts)
    json.append(json.size() > 1 ? "," : "").append(base::json_quote(text));
  return json + "]";
}

// The ports: which the container has, and where the host has them.
std::pair<std::string, std::string> port_json(const std::vector<PortBinding>& ports, std::size_t index) {
  std::string exposed, bound;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const PortBinding& port = ports[i];
    const auto is_same = [&](const PortBinding& other) { return other.port == port.port; };
    if (std::any_of(ports.begin(), ports.begin() + static_cast<std::ptrdiff_t>(i), is_same)) continue;
    exposed += (exposed.empty() ? "" : ",") + base::json_quote(port.port) + ":{}";
    std::string targets;  // one port may be bound in several places
    for (const PortBinding& other : ports)
      if (is_same(other))
        targets += (targets.empty() ? "" : ",") + (R"({"HostIp":)" + base::json_quote(other.address)) +
                   R"(,"HostPort":")" + std::to_string(other.host_port + static_cast<int>(index)) + "\"}";
    bound += (bound.empty() ? "" : ",") + base::json_quote(port.port) + ":[" + targets + "]";
  }
  return {exposed, bound};
}

}  // namespace

std::vector<std::string> ContainerSpec::names() const {
  if (count == 0) return {name};
  std::vector<std::string> all;
  for (int number = 1; number <= count; ++number)
    all.push_back(name + "_" + std::to_string(number));
  return all;
}

std::string ContainerSpec::fingerprint(std::string_view state_id) const {
  return base::sha256_hex(std::string(state_id) + "\n" + std::to_string(count) + "\n" + files_hash + "\n" +
                          json(0, {}));
}

std::string ContainerSpec::json(std::size_t index, std::string_view state_id) const {
  const auto [exposed, bound] = port_json(ports, index);
  std::string devices_json;
  for (const Device& device : devices)
    devices_json += (devices_json.empty() ? "" : ",") +
                    (R"({"PathOnHost":)" + base::json_quote(device.on_host)) + R"(,"PathInContainer":)" +
                    base::json_quote(device.in_container) + R"(,"CgroupPermissions":)" +
                    base::json_quote(device.rights) + "}";
  std::string json = R"({"Image":)" + base::json_quote(image.text()) + R"(,"Hostname":)" +
                     base::json_quote(names()[index].substr(0, 63)) + R"(,"Env":)" + array(environment) +
                     R"(,"ExposedPorts":{)" + exposed + "}";
  if (!command.empty()) json += R"(,"Cmd":)" + array(command);
  if (!entry_point.empty()) json += R"(,"Entrypoint":)" + array(entry_point);
  if (!state_id.empty())
    json += R"(,"Labels":{)" + base::json_quote(kNameLabel) + ":" + base::json_quote(name) + "," +
            base::json_quote(kFingerprintLabel) + ":" + base::json_quote(fingerprint(state_id)) + "}";
  json += R"(,"HostConfig":{"Binds":)" + array(binds) + R"(,"Links":)" + array(links) + R"(,"Devices":[)" +
          devices_json + R"(],"PortBindings":{)" + bound + R"(},"PublishAllPorts":)" +
          (publish_all_ports ? "true" : "false") + R"(,"Memory":)" + std::to_string(memory) +
          R"(,"CpuShares":)" + std::to_string(cpu_shares) + R"(,"CpusetCpus":)" + base::json_quote(cpus) +
          "}}";
  return json;
}

base::Result<ContainerSpec> understand(const ContainerParams& params) {
  ContainerSpec spec{.name = std::string(params.container),
                     .command = {params.command.begin(), params.command.end()},
                     .entry_point = {params.entry_point.begin(), params.entry_point.end()},
                     .publish_all_ports = params.publish_all_ports};
  if (!is_container_name(params.container)) return illegal("container", params.container);
  auto image = parse_reference(params.image, params.tag, "image");
  if (!image) return std::move(image).error();
  spec.image = std::move(*image);
  if (!params.count.empty()) {
    const auto count = base::parse_integer(params.count);
    if (!count || *count < 1 || *count > kMostInstances) return illegal("count", params.count);
    spec.count = static_cast<int>(*count);
  }
  if (auto read = read_ports(params.port_bindings, spec); !read) return std::move(read).error();
  if (auto read = read_binds(params, spec); !read) return std::move(read).error();
  if (auto read = read_devices(params.devices, spec); !read) return std::move(read).error();
  if (auto read = read_memory(params.mem_limit, spec); !read) return std::move(read).error();
  if (auto read = read_cpus(params.cpu_shares, spec); !read) return std::move(read).error();
  if (auto read = read_pairs(params, spec); !read) return std::move(read).error();
  return spec;
}

}  // namespace states::docker
