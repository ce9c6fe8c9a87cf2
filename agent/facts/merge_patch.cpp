#include "agent/facts/merge_patch.hpp"

#include <algorithm>

#include "base/values/json_text.hpp"

namespace agent::facts {

namespace {

using base::Member;
using base::Value;

bool holds_null(const Value& value) {
  return value.is_null() ||
         std::ranges::any_of(value.members(), [](const Member& member) { return holds_null(member.value); });
}

void write_patch(base::JsonText& json, const Value& before, const Value& after) {
  json.begin_object();
  for (const Member& old : before.members())
    if (!after.find(old.key)) json.key(old.key).null();
  for (const Member& member : after.members()) {
    const Value* old = before.find(member.key);
    if (old && old->is_object() && member.value.is_object()) {
      if (base::to_json(*old) == base::to_json(member.value)) continue;
      json.key(member.key);
      write_patch(json, *old, member.value);
    } else if (!old || base::to_json(*old) != base::to_json(member.value)) {
      json.key(member.key).json(base::to_json(member.value));
    }
  }
  json.end_object();
}

}  // namespace

std::optional<std::string> merge_patch(std::string_view before, std::string_view after) {
  base::Arena arena;
  const auto parsed_before = base::parse_json(before, arena);
  const auto parsed_after = base::parse_json(after, arena);
  const auto* from = std::get_if<Value>(&parsed_before);
  const auto* to = std::get_if<Value>(&parsed_after);
  if (!from || !to || !from->is_object() || !to->is_object() || holds_null(*to)) return std::nullopt;
  base::JsonText json;
  write_patch(json, *from, *to);
  return json.take();
}

}  // namespace agent::facts
