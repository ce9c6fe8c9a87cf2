#include "states/mesos/mesos.hpp"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <optional>

#include <climits>

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/tree/seen.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"
#include "states/files/working_folder.hpp"
#include "states/mesos/part.hpp"

namespace states::mesos {

namespace {

constexpr const char* kHosts = "/etc/hosts";
constexpr const char* kHostName = "/etc/hostname";
constexpr std::size_t kLargestHosts = 4 * 1024 * 1024;

base::Error illegal(std::string_view param, std::string_view value) {
  return {base::ErrorCode::invalid,
          "Illegal value for '" + std::string(param) + "': '" + std::string(value) + "'"};
}

bool is_address(std::string_view text) {
  in_addr bytes{};
  return ::inet_pton(AF_INET, std::string(text).c_str(), &bytes) == 1;
}

bool is_host_name(std::string_view text) {
  return !text.empty() && text.size() < HOST_NAME_MAX && text.front() != '-' && text.front() != '.' &&
         std::ranges::all_of(
             text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_'; });
}

std::string zookeeper(const std::vector<Master>& masters, std::string Master::*member,
                      std::string_view path) {
  std::string text = "zk://";
  for (const Master& master : masters)
    text.append(text.ends_with('/') ? "" : ",").append(master.*member).append(":2181");
  return text.append(path);
}

std::string file_parameter(const ConfigFile& file) {
  return R"({"path": )" + base::json_quote(file.path) + R"(, "content": )" + base::json_quote(file.content) +
         "}";
}

base::Result<std::string> read_hosts(Context& context) {
  auto found = context.tree.look(kHosts);
  if (!found) return std::move(found).error();
  if (!*found) return std::string();
  const std::string real = context.tree.real_end(kHosts);
  return context.tree.read(real.empty() ? kHosts : real, kLargestHosts);
}

// What a service was last started with, in the agent's state folder.
std::string record_path(const NodeService& service, const Context& context) {
  return context.host.state_dir + "/mesos/" + service.name;
}

std::string record_of(const NodeService& service) {
  base::Sha256 hash;
  for (const ConfigFile& file : service.files)
    hash.add(file.path + "\n" + std::to_string(file.content.size()) + "\n" + file.content + "\n");
  return hash.finish() + "\n";
}

base::Result<bool> is_recorded(const NodeService& service, Context& context) {
  const std::string path = record_path(service, context);
  auto found = context.tree.look(path);
  if (!found) return std::move(found).error();
  if (!*found) return false;
  return context.tree.has_content(path, record_of(service));
}

base::Result<void> record(const NodeService& service, ApplyContext& context) {
  const std::string path = record_path(service, context);
  const std::string folder(base::split_path(path).folder);
  if (auto made = files::make_folders(folder, {.uid = 0, .gid = 0, .mode = 0700}, context); !made)
    return made;
  auto found = context.tree.look(path);
  if (!found) return std::move(found).error();
  return context.files.write_file(path, base::Seen(*found), record_of(service),
                                  {.uid = 0, .gid = 0, .mode = 0600});
}

std::string service_parameter(const NodeService& service) {
  return R"({"name": [{"key": )" + base::json_quote(service.name) +
         R"(, "value": "restart"}], "enabled": true})";
}
std::string opposite_parameter(const Node& node) {
  return R"({"name": [)" + base::json_quote(node.opposite) + R"(], "running": false, "enabled": false})";
}

std::string current_host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

bool is_installed(const Node& node) {
  return std::ranges::any_of(
      node.programs, [](std::string_view program) { return base::find_program(program).has_value(); });
}

// All files of the node, whole.
base::Result<std::vector<ConfigFile>> files_of(const Node& node, Context& context) {
  std::vector<ConfigFile> files;
  auto hosts = read_hosts(context);
  if (!hosts) return std::move(hosts).error();
  // It is handed on as a parameter, which is text.
  if (!base::is_utf8(*hosts))
    return base::Error(base::ErrorCode::invalid, "/etc/hosts is not UTF-8, and is left alone");
  if (std::string wanted = put_hosts(*hosts, node.masters); wanted != *hosts)
    files.push_back({kHosts, std::move(wanted)});
  if (!node.host_name.empty()) files.push_back({kHostName, node.host_name + "\n"});
  for (const NodeService& service : node.services)
    files.insert(files.end(), service.files.begin(), service.files.end());
  return files;
}

// Why Mesos cannot be used, if it cannot.
std::optional<Plan> not_installed(const Node& node, Context& context) {
  if (is_installed(node)) return std::nullopt;
  const std::string why = "Mesos is not installed and no package source exists for it";
  if (const Overlay::Entry* earlier = context.overlay.provider(EffectKind::package, "mesos"))
    return Plan::unknown(earlier->state_id, why);
  return Plan::fail(why);
}

// One service, which restarts when its files are others than when it was last started.
base::Result<void> keep_running(const NodeService& service, ApplyContext& context, std::string& comment,
                                std::string& output) {
  const auto known = is_recorded(service, context);
  if (!known) return known.error();
  ApplyContext triggered = context;
  triggered.watch_triggered = !*known;
  if (auto done = Part("linux.service", service_parameter(service)).make_true(triggered, comment, output);
      !done)
    return done;
  return *known ? base::Result<void>() : record(service, context);
}

base::Result<void> make_true(const Node& node, ApplyContext& context, std::string& comment,
                             std::string& output) {
  auto files = files_of(node, context);
  if (!files) return std::move(files).error();
  for (const ConfigFile& file : *files)
    if (auto done = Part("linux.file", file_parameter(file)).make_true(context, comment, output); !done)
      return done;
  if (!node.host_name.empty() && current_host_name() != node.host_name) {
    if (::sethostname(node.host_name.data(), node.host_name.size()) != 0)
      return base::os_error(errno, "Cannot set the host name");
    comment.append(comment.empty() ? "" : "\n\n").append("Host name set to " + node.host_name);
  }
  // The other one first: both want the same ports.
  if (auto done = Part("linux.service", opposite_parameter(node)).make_true(context, comment, output); !done)
    return done;
  for (const NodeService& service : node.services)
    if (auto done = keep_running(service, context, comment, output); !done) return done;
  return {};
}

}  // namespace

base::Result<void> check_address(std::string_view param, std::string_view text) {
  return is_address(text) ? base::Result<void>() : illegal(param, text);
}

base::Result<void> check_host_name(std::string_view param, std::string_view text) {
  return is_host_name(text) ? base::Result<void>() : illegal(param, text);
}

base::Result<void> check_line(std::string_view param, std::string_view text) {
  const bool fine =
      !text.empty() && std::ranges::none_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f; });
  return fine ? base::Result<void>() : illegal(param, text);
}

base::Result<std::vector<Master>> masters_of(Pairs addresses) {
  std::vector<Master> masters;
  for (const Pair& pair : addresses) {
    if (pair.key.empty()) continue;
    const std::string_view name = pair.value.empty() ? pair.key : pair.value;
    if (!is_address(pair.key)) return illegal("masters_addresses", pair.key);
    if (!pair.value.empty() && !is_host_name(name)) return illegal("masters_addresses", name);
    if (std::ranges::find(masters, pair.key, &Master::address) != masters.end())
      return base::Error(base::ErrorCode::invalid,
                         "'masters_addresses' has " + std::string(pair.key) + " twice");
    masters.push_back({std::string(pair.key), std::string(name)});
  }
  if (masters.empty())
    return base::Error(base::ErrorCode::invalid, "Parameter 'masters_addresses' has no usable entry");
  return masters;
}

std::string zookeeper_by_address(const std::vector<Master>& masters, std::string_view path) {
  return zookeeper(masters, &Master::address, path);
}

std::string zookeeper_by_name(const std::vector<Master>& masters, std::string_view path) {
  return zookeeper(masters, &Master::name, path);
}

std::string put_hosts(std::string_view hosts, const std::vector<Master>& masters) {
  std::string text(hosts);
  const auto has = [&](const Master& master) {
    return std::ranges::any_of(base::split(hosts, '\n'), [&](std::string_view line) {
      const auto words = base::split_words(line.substr(0, line.find('#')));
      return words.size() > 1 && words[0] == master.address &&
             std::find(words.begin() + 1, words.end(), master.name) != words.end();
    });
  };
  for (const Master& master : masters) {
    if (master.name == master.address || has(master)) continue;
    if (!text.empty() && !text.ends_with('\n')) text += '\n';
    text += master.address + " " + master.name + "\n";
  }
  return text;
}

std::vector<Effect> effects_of(const Node& node) {
  std::vector<Effect> effects{{.kind = EffectKind::file, .name = kHosts, .certain = false},
                              {.kind = EffectKind::file, .name = kHostName, .certain = false}};
  for (const NodeService& service : node.services) {
    for (const ConfigFile& file : service.files)
      effects.push_back({.kind = EffectKind::file, .name = file.path, .certain = false});
    effects.push_back({.kind = EffectKind::unit, .name = service.name + ".service", .certain = false});
  }
  effects.push_back({.kind = EffectKind::unit, .name = node.opposite + ".service", .certain = false});
  return effects;
}

Plan plan_node(const Node& node, Context& context) {
  if (auto stop = not_installed(node, context)) return std::move(*stop);
  if (const Overlay::Entry* earlier = context.overlay.path(kHosts))
    return Plan::unknown(earlier->state_id, "/etc/hosts depends on what an earlier state does to it");
  const auto files = files_of(node, context);
  if (!files) return Plan::fail(files.error());
  Plan plan;
  for (const ConfigFile& file : *files)
    if (!Part("linux.file", file_parameter(file)).add_to(plan, context)) return plan;
  if (const std::string now = current_host_name(); !node.host_name.empty() && now != node.host_name) {
    plan.verdict = Verdict::change;
    plan.message.append(plan.message.empty() ? "" : "; ").append("Set the host name to " + node.host_name);
    plan.changes.push_back({.what = "host name", .before = now, .after = node.host_name});
  }
  if (!Part("linux.service", opposite_parameter(node)).add_to(plan, context)) return plan;
  std::string running;
  for (const NodeService& service : node.services) {
    const auto known = is_recorded(service, context);
    if (!known) return Plan::fail(known.error());
    Context triggered = context;
    triggered.watch_triggered = !*known;
    if (!Part("linux.service", service_parameter(service)).add_to(plan, triggered)) return plan;
    running.append(running.empty() ? "" : ", ").append(service.name);
  }
  if (plan.verdict == Verdict::kept) plan.message = running + " run as configured";
  return plan;
}

Applied apply_node(const Node& node, ApplyContext& context) {
  std::string comment;
  std::string output;
  if (!is_installed(node))
    return Applied::failed("Mesos is not installed and no package source exists for it");
  if (auto done = make_true(node, context, comment, output); !done)
    return Applied::failed(done.error(), std::move(output));
  return Applied::done(std::move(comment), std::move(output));
}

}  // namespace states::mesos
