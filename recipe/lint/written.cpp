#include "recipe/lint/written.hpp"

#include <algorithm>

#include "recipe/expressions.hpp"

namespace recipe::lint {

namespace {

using base::Member;
using base::Value;

std::vector<std::string_view> names_in(const Value* value) {
  std::vector<std::string_view> names;
  for (const Value& each : literals(value))
    names.push_back(each.text());
  return names;
}

bool reads_secret(const Value& value, const std::set<std::string, std::less<>>& secret) {
  if (value.is_text()) return mentions_secret(value.text(), secret);
  return std::ranges::any_of(value.items(), [&](const Value& item) { return reads_secret(item, secret); }) ||
         std::ranges::any_of(value.members(),
                             [&](const Member& member) { return reads_secret(member.value, secret); });
}

WrittenState state_of(const Value& entry, const states::Registry& registry) {
  WrittenState state{.entry = entry};
  for (const std::string_view key : {"id", "stateid", "state_id"})
    if (const Value* id = entry.find(key); id && id->is_text() && state.id.empty()) state.id = id->text();
  state.allowed = names_in(entry.find("_lint"));
  if (const Value* module = entry.find("module")) {
    if (const states::RegistryEntry* found = registry.find(module->text())) state.type = found->type;
    if (const Value* params = entry.find("parameter")) state.params = *params;
    return state;
  }
  for (const Member& member : entry.members())
    if (const states::RegistryEntry* found = registry.find(member.key)) {
      state.type = found->type;
      state.params = member.value;
    }
  return state;
}

}  // namespace

bool mentions_secret(std::string_view text, const std::set<std::string, std::less<>>& secret) {
  constexpr std::string_view kBegin = "vars.";
  if (text.find("{{") == std::string_view::npos) return false;
  if (text.find("secret(") != std::string_view::npos) return true;
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (std::size_t at = 0; (at = text.find(kBegin, at)) != std::string_view::npos;) {
    at += kBegin.size();
    std::size_t end = at;
    while (end < text.size() && is_part(text[end]))
      ++end;
    if (secret.contains(text.substr(at, end - at))) return true;
  }
  return false;
}

std::string_view literal(const Value* value) {
  return value && value->is_text() && !has_expression(value->text()) ? value->text() : std::string_view();
}

std::vector<Value> literals(const Value* value) {
  std::vector<Value> texts;
  if (!value) return texts;
  if (value->is_text() && !has_expression(value->text())) texts.push_back(*value);
  for (const Value& item : value->items())
    if (item.is_text() && !has_expression(item.text())) texts.push_back(item);
  return texts;
}

bool is_true(const Value* value) {
  return value && value->as_bool().value_or(false);
}
bool is_false(const Value* value) {
  return value && !value->as_bool().value_or(true);
}

const Value* WrittenState::param(std::string_view name) const {
  if (!type) return params.find(name);
  for (const states::Param& row : type->schema()) {
    if (!row.is_called(name)) continue;
    if (const Value* value = params.find(row.name)) return value;
    for (const std::string_view alias : row.aliases)
      if (const Value* value = alias.empty() ? nullptr : params.find(alias)) return value;
    return nullptr;
  }
  return params.find(name);  // a template
}

Written written(const Source& source, const states::Registry& registry, int version) {
  Written file{.source = &source, .version = version, .root = source.document->root};
  const Value& root = file.root;
  file.allowed = names_in(root.find("_lint"));
  if (const Value* vars = root.find("vars"))
    for (const Member& member : vars->members())
      if (reads_secret(member.value, file.secret)) file.secret.emplace(member.key);
  const Value* states = root.is_list() ? &root : find_states(root);
  if (states)
    for (const Value& entry : states->items())
      if (entry.is_object()) file.states.push_back(state_of(entry, registry));
  return file;
}

void Notes::add(const WrittenState* state, std::uint32_t offset, std::string message) {
  const auto allows = [&](const std::vector<std::string_view>& names) {
    return std::ranges::find(names, rule_->name) != names.end();
  };
  if (findings_.size() >= kMostFindings || allows(file_.allowed) || (state && allows(state->allowed))) return;
  places_.push_back({findings_.size(), offset});
  findings_.push_back({.rule = rule_,
                       .message = std::move(message),
                       .state_id = state ? std::string(state->id) : std::string(),
                       .position = {},
                       .file = file_.source->file});
}

void Notes::locate() {
  if (places_.empty()) return;
  const LineIndex lines(*file_.source->document);
  for (const Place& place : places_)
    findings_[place.index].position = lines.locate(place.offset);
}

std::vector<Finding> lint(const Recipe& recipe, const Choice& choice) {
  const auto has = [](const std::vector<std::string>& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  std::vector<Finding> findings;
  const int version = recipe_version(recipe.sources().front()->document->root);
  for (const auto& source : recipe.sources()) {
    const Written file = written(*source, recipe.registry(), version);
    Notes notes(findings, file);
    for (const Rule& rule : rules()) {
      if (has(choice.without, rule.name) || (rule.is_asked_for && !has(choice.with, rule.name))) continue;
      notes.begin(rule);
      rule.look(file, notes);
    }
    notes.locate();
  }
  std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
    return std::tie(a.file, a.position.line, a.position.column) <
           std::tie(b.file, b.position.line, b.position.column);
  });
  return findings;
}

}  // namespace recipe::lint
