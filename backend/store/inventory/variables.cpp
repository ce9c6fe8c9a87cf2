#include "backend/store/inventory/variables.hpp"

#include "backend/domain/access/name_rules.hpp"
#include "backend/domain/selectors/selector.hpp"
#include "backend/domain/selectors/self_report_rules.hpp"
#include "backend/store/transaction.hpp"

namespace backend::store {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

Result<void> check_target(Store& store, const LayerName& name) {
  auto app = store.find_app(name.app_id);
  if (!app) return std::move(app).error();
  if (name.kind == domain::LayerKind::machine) return domain::check_name("a machine", name.target);
  if (name.kind != domain::LayerKind::selector) return {};
  auto selector = domain::Selector::parse(name.target);
  if (!selector) return std::move(selector).error().with_context("selector");
  if (std::string wrong = domain::problem_of_self_report(*selector, *app); !wrong.empty())
    return Error(ErrorCode::invalid, "selector: " + wrong);
  return {};
}

Result<void> check_room(Store& store, const LayerName& name, const std::string& owner) {
  const std::size_t most =
      name.kind == domain::LayerKind::selector ? domain::kMostSelectorLayers : domain::kMostMachineLayers;
  auto count = store.count_layers(name.app_id, name.kind, owner);
  if (!count) return std::move(count).error();
  if (*count < most) return {};
  if (auto removed = store.remove_empty_layers(name.app_id); !removed) return removed;
  count = store.count_layers(name.app_id, name.kind, owner);
  if (!count) return std::move(count).error();
  if (*count < most) return {};
  return Error(ErrorCode::invalid, "app " + name.app_id + " has variables for " + std::to_string(most) +
                                       " selectors already: unset those that are not needed");
}

// Every machine of the app that is placed looks through all of them.
Result<void> check_bytes(Store& store, const domain::VariableLayer& layer, std::size_t bytes_before) {
  const std::size_t bytes = domain::bytes_of(layer);
  if (bytes <= bytes_before) return {};
  auto all = store.variable_bytes(layer.app_id, layer.owner);
  if (!all) return std::move(all).error();
  if (*all + bytes <= domain::kMostVariableBytes + bytes_before) return {};
  return Error(ErrorCode::invalid,
               "the variables of app " + layer.app_id + " would have more than " +
                   std::to_string(domain::kMostVariableBytes >> 20) +
                   " MiB together: unset those that are not needed; what is large belongs into a recipe");
}

// The oldest changes of an owner make room.
Result<void> trim_history(Store& store, const std::string& owner) {
  auto use = store.variable_history_use(owner);
  if (!use) return std::move(use).error();
  while (use->changes > 0 &&
         (use->changes > domain::kMostVariableHistory || use->bytes > domain::kMostVariableHistoryBytes)) {
    constexpr std::size_t kPart = 10;
    if (auto removed = store.remove_oldest_variable_changes(owner, use->changes / kPart + 1); !removed)
      return removed;
    use = store.variable_history_use(owner);
    if (!use) return std::move(use).error();
  }
  return {};
}

}  // namespace

Result<PutLayer> put_layer(Store& store, const LayerEdit& edit, domain::Millis now) {
  return in_transaction(store, [&]() -> Result<PutLayer> {
    if (auto fine = check_target(store, edit.name); !fine) return std::move(fine).error();
    auto present = store.find_layer(edit.name.app_id, edit.name.kind, edit.name.target);
    if (!present) return std::move(present).error();
    const bool has_any = *present && !(*present)->variables.empty();
    const domain::VariableLayer nothing{
        .app_id = edit.name.app_id, .kind = edit.name.kind, .target = edit.name.target, .owner = edit.owner};
    domain::VariableLayer before = *present ? **present : nothing;
    if (auto same = check_edit(edit.expected, has_any ? before.edit : 0, "these variables"); !same)
      return std::move(same).error();
    if (!has_any) before.owner = edit.owner;
    auto edited = domain::edit_variables(before, edit.edits, edit.author, now);
    if (!edited) return std::move(edited).error();
    domain::VariableLayer& layer = edited->layer;
    layer.order = edit.order.value_or(before.order);
    layer.owner = edit.owner;
    if (!edit.set.empty() || !has_any) layer.set = edit.set;
    PutLayer put{.layer = before};
    if (has_any) put.before = before;
    const bool is_other = layer.order != before.order || (has_any && layer.set != before.set);
    if (edited->changes.empty() && !(is_other && has_any)) return put;
    const std::size_t bytes_before = before.owner == layer.owner ? domain::bytes_of(before) : 0;
    if (auto room = check_bytes(store, layer, bytes_before); !room) return std::move(room).error();
    if (!*present) {
      if (auto room = check_room(store, edit.name, edit.owner); !room) return std::move(room).error();
      auto added = store.insert_layer(nothing, now);
      if (!added) return std::move(added).error();
      layer.id = added->id;
      for (domain::VariableChange& change : edited->changes)
        change.layer = layer.id;
    }
    auto written = store.write_layer(layer);
    if (!written) return std::move(written).error();
    for (domain::VariableChange& change : edited->changes)
      change.owner = edit.owner;
    if (auto noted = store.add_variable_changes(edited->changes); !noted) return std::move(noted).error();
    if (auto trimmed = trim_history(store, edit.owner); !trimmed) return std::move(trimmed).error();
    put.layer = std::move(*written);
    put.changes = std::move(edited->changes);
    put.is_changed = true;
    return put;
  });
}

Result<std::vector<domain::VariableLayer>> layers_for(Store& store, const domain::Instance& instance) {
  auto layers = store.layers_of(instance.app_id, instance.instance_id);
  if (!layers) return layers;
  std::erase_if(*layers, [&](const domain::VariableLayer& layer) {
    if (layer.variables.empty()) return true;
    if (layer.kind != domain::LayerKind::selector) return false;
    const auto selector = domain::Selector::parse(layer.target);
    return !selector || !selector->strict().matches(instance);
  });
  return layers;
}

}  // namespace backend::store
