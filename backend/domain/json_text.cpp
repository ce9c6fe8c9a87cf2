#include "backend/domain/json_text.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/values/json.hpp"
#include "base/values/json_text.hpp"

namespace backend::domain {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

namespace {

// "{…}" or "[…]" with what `write` appends for each item between the commas.
template <class Items, class Write>
std::string bracketed(char open, char close, const Items& items, const Write& write) {
  std::string out(1, open);
  for (const auto& item : items) {
    if (out.size() > 1) out += ',';
    write(item, out);
  }
  return out + close;
}

// Null when it is not JSON. Callers keep it in a name of its own while they go through what it holds.
Value parsed(std::string_view json, base::Arena& arena) {
  const auto read = base::parse_json(json, arena);
  const auto* value = std::get_if<Value>(&read);
  return value ? *value : Value();
}

using Index = std::unordered_map<std::string_view, const Value*>;
Index index_of(const Value& object) {
  Index index;
  for (const base::Member& member : object.members())
    index.emplace(member.key, &member.value);
  return index;
}

void write_merged(const Value& target, const Value& patch, std::string& out) {
  if (!patch.is_object()) {
    out += base::to_json(patch);
    return;
  }
  const Index patched = index_of(patch), present = index_of(target);
  out += '{';
  const char* separator = "";
  const auto write_key = [&](std::string_view key) {
    out.append(separator).append(base::json_quote(key)).append(":");
    separator = ",";
  };
  for (const base::Member& member : target.members()) {
    const auto found = patched.find(member.key);
    if (found != patched.end() && found->second->is_null()) continue;
    write_key(member.key);
    if (found == patched.end())
      out += base::to_json(member.value);
    else
      write_merged(member.value, *found->second, out);
  }
  for (const base::Member& member : patch.members()) {
    if (member.value.is_null() || present.contains(member.key)) continue;
    write_key(member.key);
    write_merged(Value(), member.value, out);
  }
  out += '}';
}

}  // namespace

std::string to_json(std::span<const protocol::MachineHold> holds) {
  base::JsonText json;
  json.begin_list();
  for (const protocol::MachineHold& hold : holds)
    json.begin_object()
        .member("origin", hold.is_local ? "machine" : "backend")
        .member("by", hold.by)
        .member("reason", hold.reason)
        .member("since", hold.since)
        .member("until", hold.until)
        .end_object();
  return json.end_list().take();
}

std::vector<protocol::MachineHold> read_holds(std::string_view json) {
  if (json.empty()) return {};
  base::Arena arena;
  const Value list = parsed(json, arena);
  std::vector<protocol::MachineHold> holds;
  for (const Value& each : list.items()) {
    const auto text = [&](std::string_view key) {
      const Value* value = each.find(key);
      return value ? std::string(value->text()) : std::string();
    };
    holds.push_back({.is_local = text("origin") == "machine",
                     .by = text("by"),
                     .reason = text("reason"),
                     .since = text("since"),
                     .until = text("until")});
  }
  return holds;
}

std::string to_json(const Tags& tags) {
  return bracketed('{', '}', tags, [](const auto& tag, std::string& out) {
    out.append(base::json_quote(tag.first)).append(":").append(base::json_quote(tag.second));
  });
}

std::string to_json(std::span<const std::string> texts) {
  return bracketed('[', ']', texts,
                   [](const std::string& text, std::string& out) { out += base::json_quote(text); });
}

std::string to_json(const std::map<std::string, std::uint64_t>& counts) {
  return bracketed('{', '}', counts, [](const auto& count, std::string& out) {
    out.append(base::json_quote(count.first)).append(":").append(std::to_string(count.second));
  });
}

std::string to_json(std::span<const protocol::Change> changes) {
  return bracketed('[', ']', changes, [](const protocol::Change& change, std::string& out) {
    out.append("{\"what\":").append(base::json_quote(change.what));
    if (!change.before.empty()) out.append(",\"before\":").append(base::json_quote(change.before));
    if (!change.after.empty()) out.append(",\"after\":").append(base::json_quote(change.after));
    if (!change.diff.empty()) out.append(",\"diff\":").append(base::json_quote(change.diff));
    out += '}';
  });
}

Tags read_tags(std::string_view json) {
  if (json == "{}") return {};  // most of them
  base::Arena arena;
  const Value document = parsed(json, arena);
  Tags tags;
  for (const base::Member& member : document.members())
    tags.emplace(member.key, member.value.text());
  return tags;
}

std::vector<std::string> read_texts(std::string_view json) {
  if (json == "[]") return {};
  base::Arena arena;
  const Value document = parsed(json, arena);
  std::vector<std::string> texts;
  for (const Value& item : document.items())
    texts.emplace_back(item.text());
  return texts;
}

std::map<std::string, std::uint64_t> read_counts(std::string_view json) {
  base::Arena arena;
  const Value document = parsed(json, arena);
  std::map<std::string, std::uint64_t> counts;
  for (const base::Member& member : document.members())
    counts.emplace(member.key, static_cast<std::uint64_t>(member.value.as_integer().value_or(0)));
  return counts;
}

namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 6> kProgressNames{"accepted",  "rejected", "running",
                                                         "converged", "failed",   "superseded"};

}  // namespace

std::string_view progress_name(protocol::RecipeProgress progress) {
  return kProgressNames[static_cast<std::size_t>(progress)];
}

protocol::RecipeProgress read_progress(std::string_view name) {
  const auto found = std::ranges::find(kProgressNames, name);
  return static_cast<protocol::RecipeProgress>(
      found == kProgressNames.end() ? 0 : found - kProgressNames.begin());
}

Result<std::string> merge_patch(std::string_view target, std::string_view patch) {
  base::Arena arena;
  const Value before = parsed(target, arena), changes = parsed(patch, arena);
  if (!before.is_object() || !changes.is_object())
    return Error(ErrorCode::invalid, "a patch and what it is for must be JSON objects");
  std::string out;
  write_merged(before, changes, out);
  return out;
}

}  // namespace backend::domain
