#include "backend/api/changes/variable_changes.hpp"

#include <algorithm>

#include "backend/api/callers/scope.hpp"
#include "backend/api/callers/self_reports.hpp"
#include "backend/api/callers/visibility.hpp"
#include "backend/api/names.hpp"
#include "backend/domain/access/ownership.hpp"

namespace backend::api {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr std::size_t kMostNamed = 20;

// That every machine which the layer reaches, now or later, is in the scope.
Result<void> check_reach(store::Store& store, const Scope& scope, const store::LayerName& name) {
  if (auto app = find_visible_app(store, scope, name.app_id); !app) return std::move(app).error();
  if (!scope || name.kind == domain::LayerKind::selector) return {};  // that is narrowed
  const bool is_app = name.kind == domain::LayerKind::app;
  const auto whole =
      domain::Selector::parse(is_app ? "app=\"" + name.app_id + "\"" : "instance=\"" + name.target + "\"");
  if (whole && whole->strict().is_within(*scope)) return {};
  if (is_app)
    return Error(ErrorCode::permission, "the variables of app " + name.app_id +
                                            " reach machines outside of the scope " + scope->text() +
                                            ": set them for a selector (-l) or for a machine (--machine)");
  auto instance = find_covered(store, scope, name.app_id, name.target);
  if (!instance) return std::move(instance).error();
  return {};
}

Result<void> check_owner(store::Store& store, const Scope& scope, const store::LayerName& name) {
  auto present = store.find_layer(name.app_id, name.kind, name.target);
  if (!present) return std::move(present).error();
  if (!*present || (*present)->variables.empty() || domain::owns(scope, (*present)->owner)) return {};
  return Error(ErrorCode::permission, "the variables of " + domain::describe(**present) + " belong to " +
                                          domain::describe_owner((*present)->owner) +
                                          ", and are set with such a token");
}

Result<std::vector<std::string>> find_warnings(store::Store& store, const Scope& scope,
                                               const store::LayerEdit& edit) {
  std::vector<std::string> warnings;
  for (const auto& [name, value] : edit.edits.set) {
    const std::string secret = domain::find_secret_name(name, value);
    if (secret.empty() || warnings.size() >= kMostNamed) continue;
    warnings.push_back(
        "'" + secret +
        "' is called like a secret, and variables are none: whoever may read a machine reads "
        "them, and their history keeps them. Have the recipe say ${{ secret('name') }}, and put it on "
        "the machine");
  }
  if (edit.name.kind == domain::LayerKind::machine) {
    auto instance = store.find_instance(edit.name.app_id, edit.name.target);
    if (!instance && instance.error().code() != ErrorCode::not_found) return std::move(instance).error();
    if (!instance)
      warnings.push_back("there is no machine '" + edit.name.target + "' in app " + edit.name.app_id +
                         " yet; it gets these when it joins");
  }
  if (edit.name.kind != domain::LayerKind::selector) return warnings;
  auto selector = domain::Selector::parse(edit.name.target);
  if (!selector) return std::move(selector).error();
  auto app = store.find_app(edit.name.app_id);
  if (!app) return std::move(app).error();
  auto effect = study(store, scope, edit.name.app_id, *selector);
  if (!effect) return std::move(effect).error();
  for (std::string& warning : domain::self_report_warnings(*selector, *app, *effect))
    warnings.push_back(std::move(warning));
  if (effect->matched == 0) warnings.push_back("no machine matches " + edit.name.target + " now");
  return warnings;
}

// Whether the machine is in the scope: by its name alone, or because it is there and given something.
Result<bool> is_reached(store::Store& store, const domain::Selector& scope, const std::string& app_id,
                        const std::string& name) {
  const auto whole = domain::Selector::parse("instance=\"" + name + "\"");
  if (whole && whole->strict().is_within(scope)) return true;
  auto instance = store.find_instance(app_id, name);
  if (!instance && instance.error().code() == ErrorCode::not_found) return false;
  if (!instance) return std::move(instance).error();
  return !instance->is_out() && scope.matches(*instance);
}

// Names alone: the audit is kept for ever.
std::string describe_changes(const std::vector<domain::VariableChange>& changes) {
  std::string set, unset;
  std::size_t count = 0;
  for (const domain::VariableChange& each : changes) {
    if (++count > kMostNamed) break;
    std::string& names = each.after ? set : unset;
    names += (names.empty() ? "" : ", ") + each.name;
  }
  std::string text = set.empty() ? "" : "set " + set;
  if (!unset.empty()) text += (text.empty() ? "unset " : "; unset ") + unset;
  if (count > kMostNamed) text += " and " + std::to_string(changes.size() - kMostNamed) + " more";
  return text.empty() ? "its order" : text;
}

}  // namespace

store::LayerEdit read_layer_name(Fields& fields, const Scope& scope) {
  constexpr std::int64_t kLargest = 1'000'000'000;
  store::LayerEdit edit;
  edit.name.app_id = fields.text_or("app_id", "default");
  check_name(fields, "app_id", edit.name.app_id);
  const std::string selector = fields.text_or("selector", "");
  const std::string machine = fields.text_or("instance_id", "");
  edit.order = fields.integer("order", -kLargest, kLargest);
  edit.owner = scope ? scope->text() : "";
  if (!selector.empty() && !machine.empty())
    fields.complain("instance_id", "of 'selector' and 'instance_id' one at most: a layer is for either");
  if (!selector.empty()) {
    edit.name.kind = domain::LayerKind::selector;
    auto parsed = domain::Selector::parse(selector);
    if (parsed) parsed = narrowed(scope, *parsed);
    if (parsed)
      edit.name.target = parsed->text();
    else
      fields.complain("selector", parsed.error().message());
  } else if (!machine.empty()) {
    edit.name.kind = domain::LayerKind::machine;
    edit.name.target = machine;
    check_name(fields, "instance_id", machine);
  }
  if (edit.order && edit.name.kind != domain::LayerKind::selector)
    fields.complain("order", "is for selectors: those of an app are the weakest, a machine's the strongest");
  return edit;
}

std::vector<std::pair<std::string, std::string>> read_values(Fields& fields, std::string_view field,
                                                             const base::Value& given) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const base::Member& member : given.members()) {
    const std::string where = std::string(field) + "." + std::string(member.key);
    if (std::string wrong = domain::problem_of_variable_name(member.key); !wrong.empty()) {
      fields.complain(where, std::move(wrong));
      continue;
    }
    auto value = domain::to_variable(member.value);
    if (value)
      values.emplace_back(member.key, std::move(*value));
    else
      fields.complain(where, value.error().message());
  }
  return values;
}

Result<std::vector<bool>> visible_layers(store::Store& store, const Scope& scope,
                                         std::span<const domain::VariableLayer> layers) {
  std::vector<bool> visible(layers.size());
  std::vector<MachineSet> sets;
  std::vector<std::size_t> asked;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const domain::VariableLayer& layer = layers[i];
    if (domain::owns(scope, layer.owner)) {
      visible[i] = true;
      continue;
    }
    if (layer.kind == domain::LayerKind::machine) {
      // There may be as many of these as there are machines, so each is looked up by its name.
      auto reached = is_reached(store, *scope, layer.app_id, layer.target);
      if (!reached) return std::move(reached).error();
      visible[i] = *reached;
      continue;
    }
    sets.push_back(
        {layer.app_id, layer.kind == domain::LayerKind::app ? "app=\"" + layer.app_id + "\"" : layer.target});
    asked.push_back(i);
  }
  auto seen = visible_sets(store, scope, sets);
  if (!seen) return std::move(seen).error();
  for (std::size_t i = 0; i < asked.size(); ++i)
    visible[asked[i]] = (*seen)[i];
  return visible;
}

Result<bool> is_layer_visible(store::Store& store, const Scope& scope, const domain::VariableLayer& layer) {
  auto visible = visible_layers(store, scope, std::span(&layer, 1));
  if (!visible) return std::move(visible).error();
  return static_cast<bool>(visible->front());
}

Result<VariableChange> put_variables(store::Store& store, const Scope& scope, const Actor& actor,
                                     store::LayerEdit edit, const std::string& why) {
  if (auto fine = check_reach(store, scope, edit.name); !fine) return std::move(fine).error();
  if (auto fine = check_owner(store, scope, edit.name); !fine) return std::move(fine).error();
  edit.author = actor.name;
  auto put = store::put_layer(store, edit, domain::now_millis());
  if (!put) return std::move(put).error();
  auto warnings = find_warnings(store, scope, edit);
  if (!warnings) return std::move(warnings).error();
  if (put->is_changed) {
    auto noted = audit(store, actor, "variables.set", domain::describe(put->layer),
                       describe_changes(put->changes) + (why.empty() ? "" : " " + why));
    if (!noted) return std::move(noted).error();
  }
  return VariableChange{.put = std::move(*put), .warnings = std::move(*warnings)};
}

void add_layer(base::JsonText& json, const domain::VariableLayer& layer) {
  json.member("id", layer.id).member("app_id", layer.app_id).member("kind", domain::name_of(layer.kind));
  if (layer.kind == domain::LayerKind::selector)
    json.member("selector", layer.target).member("order", layer.order);
  if (layer.kind == domain::LayerKind::machine) json.member("instance_id", layer.target);
  if (layer.created > 0) domain::add_instant(json, "created", layer.created);
  add_owner(json, layer.owner);
  json.optional("set", layer.set);
  json.key("variables").begin_object();
  for (const domain::Variable& each : layer.variables) {
    json.key(each.name).begin_object().key("value").json(each.value);
    json.member("author", each.author);
    domain::add_instant(json, "at", each.at);
    json.end_object();
  }
  json.end_object();
}

}  // namespace backend::api
