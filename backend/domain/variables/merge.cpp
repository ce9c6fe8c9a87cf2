#include "backend/domain/variables/merge.hpp"

#include <algorithm>
#include <map>

#include "base/values/json.hpp"
#include "base/values/json_text.hpp"

namespace backend::domain {

namespace {

// A value on its way: a mapping with members in order, or JSON as it is, with where it comes from.
struct Node {
  bool is_mapping = false;
  std::vector<std::pair<std::string, Node>> members;
  std::map<std::string, std::size_t, std::less<>> index;  // of members
  std::string text;                                       // unless it is a mapping
  std::size_t layer = 0;
  const Variable* variable = nullptr;
};

struct Origin {
  std::size_t layer = 0;
  const Variable* variable = nullptr;
};

void overlay(Node& node, const base::Value& value, const Origin& origin) {
  if (!value.is_object()) {
    node = Node{.text = base::to_json(value), .layer = origin.layer, .variable = origin.variable};
    return;
  }
  if (!node.is_mapping) node = Node{.is_mapping = true};
  // An empty one changes nothing of what is there, and is its setter's if nothing is.
  if (node.members.empty()) {
    node.layer = origin.layer;
    node.variable = origin.variable;
  }
  for (const base::Member& member : value.members()) {
    const auto [found, is_new] = node.index.emplace(std::string(member.key), node.members.size());
    if (is_new) node.members.emplace_back(std::string(member.key), Node());
    overlay(node.members[found->second].second, member.value, origin);
  }
}

void write(const Node& node, base::JsonText& json) {
  if (!node.is_mapping) {
    json.json(node.text);
    return;
  }
  json.begin_object();
  for (const auto& [key, inner] : node.members) {
    json.key(key);
    write(inner, json);
  }
  json.end_object();
}

// False: they are more than kMostExplainedBytes.
bool list_leaves(const std::string& path, const Node& node, std::vector<ExplainedLeaf>& leaves,
                 std::size_t& bytes) {
  constexpr std::size_t kLeaf = 100;  // what else there is of one
  if (node.is_mapping && !node.members.empty())
    return std::ranges::all_of(node.members, [&](const auto& member) {
      return list_leaves(path + "." + member.first, member.second, leaves, bytes);
    });
  bytes += path.size() + node.text.size() + kLeaf;
  if (bytes > kMostExplainedBytes) return false;
  leaves.push_back({.path = path,
                    .value = node.is_mapping ? "{}" : node.text,
                    .layer = node.layer,
                    .author = node.variable ? node.variable->author : "",
                    .at = node.variable ? node.variable->at : 0});
  return true;
}

void overlay_text(Node& node, std::string_view text, const Origin& origin) {
  base::Arena arena;
  const auto read = base::parse_json(text, arena);
  if (const auto* value = std::get_if<base::Value>(&read)) overlay(node, *value, origin);
}

}  // namespace

void sort_layers(std::vector<VariableLayer>& layers) {
  std::ranges::stable_sort(layers, {}, strength_of);
}

std::tuple<LayerKind, std::int64_t, std::int64_t> strength_of(const VariableLayer& layer) {
  return {layer.kind, layer.kind == LayerKind::selector ? layer.order : 0, layer.id};
}

std::string merge_values(std::span<const std::string_view> weak_to_strong) {
  if (weak_to_strong.empty()) return "null";
  // Most have one layer, or replace a scalar.
  const bool is_mapping = weak_to_strong.back().starts_with('{');
  if (weak_to_strong.size() == 1 || !is_mapping) return std::string(weak_to_strong.back());
  Node node;
  for (const std::string_view text : weak_to_strong)
    overlay_text(node, text, {});
  base::JsonText json;
  write(node, json);
  return json.take();
}

base::Result<std::vector<ExplainedLeaf>> explain_variables(std::span<const VariableLayer* const> layers,
                                                           std::string_view only) {
  std::map<std::string, Node> all;
  for (std::size_t i = 0; i < layers.size(); ++i)
    for (const Variable& each : layers[i]->variables)
      if (only.empty() || each.name == only)
        overlay_text(all[each.name], each.value, {.layer = i, .variable = &each});
  std::vector<ExplainedLeaf> leaves;
  std::size_t bytes = 0;
  for (const auto& [name, node] : all)
    if (!list_leaves(name, node, leaves, bytes))
      return base::Error(base::ErrorCode::limit,
                         "its values, each with the whole path to it, are more than " +
                             std::to_string(kMostExplainedBytes >> 20) + " MiB" +
                             (only.empty() ? ": ask for one variable by its name" : ""));
  return leaves;
}

}  // namespace backend::domain
