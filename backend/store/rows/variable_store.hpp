// VariableStore: the rows of variables, by layer, and of their changes. What one may say is checked before
// (inventory/variables.hpp). See store.hpp for threads and errors.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/domain/variables/variable.hpp"
#include "base/result.hpp"

namespace backend::store {

struct VariableHistoryFilter {
  std::string app_id;                          // "": all
  std::optional<domain::LayerKind> kind = {};  // with its target; nothing: all
  std::string target = {};
  std::string name = {};  // "": all
};
struct VariableHistoryUse {
  std::size_t changes = 0;
  std::size_t bytes = 0;
};

class VariableStore {
 public:
  virtual ~VariableStore() = default;

  // By id.
  virtual base::Result<domain::Page<domain::VariableLayer>> list_layers(std::string_view app_id,  // "": all
                                                                        const domain::PageRequest& page) = 0;
  // From weak to strong, with all variables. `machine`: of the machines only this one's.
  virtual base::Result<std::vector<domain::VariableLayer>> layers_of(
      std::string_view app_id, std::optional<std::string_view> machine) = 0;
  virtual base::Result<domain::VariableLayer> find_layer(std::int64_t id) = 0;
  virtual base::Result<std::optional<domain::VariableLayer>> find_layer(std::string_view app_id,
                                                                        domain::LayerKind kind,
                                                                        std::string_view target) = 0;
  virtual base::Result<std::size_t> count_layers(std::string_view app_id, domain::LayerKind kind,
                                                 std::string_view owner) = 0;
  // Of the names and values of all of them.
  virtual base::Result<std::size_t> variable_bytes(std::string_view app_id, std::string_view owner) = 0;
  virtual base::Result<domain::VariableLayer> insert_layer(const domain::VariableLayer& layer,
                                                           domain::Millis now) = 0;
  // Its order, owner, set and variables; its `edit` grows.
  virtual base::Result<domain::VariableLayer> write_layer(const domain::VariableLayer& layer) = 0;
  // Those without variables, unless a rollout that may still go on is about them.
  virtual base::Result<void> remove_empty_layers(std::string_view app_id) = 0;

  // ---- history, which outlives its layer
  virtual base::Result<void> add_variable_changes(std::span<const domain::VariableChange> changes) = 0;
  // Newest first.
  virtual base::Result<domain::Page<domain::VariableChange>> list_variable_changes(
      const VariableHistoryFilter& filter, const domain::PageRequest& page) = 0;
  virtual base::Result<VariableHistoryUse> variable_history_use(std::string_view owner) = 0;
  // The oldest of that owner go.
  virtual base::Result<void> remove_oldest_variable_changes(std::string_view owner, std::size_t most) = 0;
};

}  // namespace backend::store
