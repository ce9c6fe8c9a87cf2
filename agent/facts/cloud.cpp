// What cloud-init knows of the instance, where there is a cloud.
#include <array>

#include "agent/facts/facts.hpp"
#include "base/files/file_read.hpp"
#include "base/values/json_text.hpp"

namespace agent::facts {

std::string cloud() {
  const auto text = base::read_file("/run/cloud-init/instance-data.json", 4 * 1024 * 1024);
  if (!text) return {};
  base::Arena arena;
  const auto parsed = base::parse_json(*text, arena);
  const auto* root = std::get_if<base::Value>(&parsed);
  const base::Value* v1 = root ? root->find("v1") : nullptr;
  if (!v1) return {};
  static constexpr std::array<std::string_view, 5> kKeys{"availability_zone", "cloud_name", "instance_id",
                                                         "platform", "region"};
  base::JsonText json;
  json.begin_object();
  for (const std::string_view key : kKeys)
    if (const base::Value* value = v1->find(key); value && !value->text().empty())
      json.member(key, value->text());
  return json.end_object().take();
}

}  // namespace agent::facts
