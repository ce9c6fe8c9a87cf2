#include "agent/inputs/recipe_facts.hpp"

#include <vector>

#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"

namespace agent::inputs {

std::string full_name(std::string_view hostname, std::string_view hosts) {
  if (hostname.find('.') != std::string_view::npos) return std::string(hostname);
  for (std::string_view line : base::split(hosts, '\n')) {
    line = line.substr(0, line.find('#'));
    const auto words = base::split_words(line);
    for (std::size_t i = 1; i < words.size(); ++i)
      if (words[i].size() > hostname.size() + 1 && words[i].starts_with(hostname) &&
          words[i][hostname.size()] == '.')
        return std::string(words[i]);
  }
  return std::string(hostname);
}

std::string recipe_facts(std::string_view gathered) {
  constexpr std::size_t kLargestHosts = 4 * 1024 * 1024;
  base::Arena arena;
  const auto parsed = base::parse_json(gathered, arena);
  const auto* facts = std::get_if<base::Value>(&parsed);
  if (!facts || !facts->is_object()) return "{}";
  base::JsonText json;
  json.begin_object();
  for (const base::Member& member : facts->members())
    json.key(member.key).json(base::to_json(member.value));
  const base::Value* hostname = facts->find("hostname");
  const auto hosts = base::read_file("/etc/hosts", kLargestHosts);
  const std::string name = full_name(hostname ? hostname->text() : "", hosts ? *hosts : "");
  const std::size_t dot = name.find('.');
  json.member("fqdn", name).member("domain", dot == std::string::npos ? "" : name.substr(dot + 1));
  std::vector<std::string_view> ipv4, ipv6;
  if (const base::Value* interfaces = facts->find("interfaces"))
    for (const base::Member& each : interfaces->members())
      if (const base::Value* addresses = each.value.find("addresses"))
        for (const base::Value& address : addresses->items())
          (address.text().find(':') == std::string_view::npos ? ipv4 : ipv6).push_back(address.text());
  json.key("network").begin_object();
  const auto list = [&](std::string_view key, const std::vector<std::string_view>& addresses) {
    json.key(key).begin_list();
    for (const std::string_view address : addresses)
      json.value(address);
    json.end_list();
  };
  list("ipv4", ipv4);
  list("ipv6", ipv6);
  return json.end_object().end_object().take();
}

}  // namespace agent::inputs
