#include "agent/facts/facts.hpp"

#include <unistd.h>

#include <array>

#include "base/sha256.hpp"
#include "base/values/json_text.hpp"

namespace agent::facts {

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? base::json_quote(name.data()) : std::string();
}

std::string tags_json(const std::map<std::string, std::string>& tags) {
  base::JsonText json;
  json.begin_object();
  for (const auto& [key, value] : tags)
    json.member(key, value);
  return json.end_object().take();
}

std::string agent_json(const AgentFacts& own) {
  base::JsonText json;
  json.begin_object();
  if (own.lost_reports > 0) json.member("lost_reports", own.lost_reports);
  return json.member("version", own.version).end_object().take();
}

}  // namespace

Facts gather(const AgentFacts& own) {
  const std::map<std::string, std::string> kinds{
      {"agent", agent_json(own)},
      {"cloud", cloud()},
      {"cpu", cpu()},
      {"disks", disks()},
      {"hostname", host_name()},
      {"interfaces", interfaces()},
      {"kernel", kernel()},
      {"memory", memory()},
      {"os", os()},
      {"packages", packages()},
      {"tags", tags_json(own.tags)},
      {"virtualization", virtualization()},
  };
  base::JsonText json;
  json.begin_object();
  for (const auto& [name, text] : kinds)
    if (!text.empty()) json.key(name).json(text);
  Facts facts{.json = json.end_object().take()};
  facts.hash = base::sha256_hex(facts.json);
  return facts;
}

}  // namespace agent::facts
