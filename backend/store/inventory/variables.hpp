// Functions on any Store: variables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/domain/variables/variable.hpp"
#include "backend/store/store.hpp"

namespace backend::store {

// Of whom, and in which place among the others.
struct LayerName {
  std::string app_id;
  domain::LayerKind kind = domain::LayerKind::app;
  std::string target = {};
};
struct LayerEdit {
  LayerName name;
  domain::VariableEdits edits = {};
  std::optional<std::int64_t> order = {};  // nothing: as it was
  std::string author, owner;
  std::string set = {};                       // of `apply`; "": by itself
  std::optional<domain::Edit> expected = {};  // nothing: any
};
struct PutLayer {
  std::optional<domain::VariableLayer> before = {};  // nothing: there were no variables
  domain::VariableLayer layer;
  std::vector<domain::VariableChange> changes = {};
  bool is_changed = false;  // something was written
};

// Makes the edits in one transaction, with their history. Without any difference nothing is written. A layer
// whose last variable has gone stays, empty and anybody's, so that it keeps its number. Errors: `exists` for
// another edit, `invalid` for limits.
base::Result<PutLayer> put_layer(Store& store, const LayerEdit& edit, domain::Millis now);

// The layers that reach a machine, from weak to strong, by what its app relies on.
base::Result<std::vector<domain::VariableLayer>> layers_for(Store& store, const domain::Instance& instance);

}  // namespace backend::store
