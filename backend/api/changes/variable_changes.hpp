// Changes of variables: what a caller may write. For the writer thread, inside the transaction of the change;
// read_variables() for any, is_layer_visible() for a reader, too.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backend/api/callers/caller.hpp"
#include "backend/api/changes/change_terms.hpp"
#include "backend/api/fields.hpp"
#include "backend/store/inventory/variables.hpp"
#include "backend/store/store.hpp"

namespace backend::api {

// What a body says: "app_id", at most one of "selector" (narrowed to the caller's scope) and "instance_id",
// "order". Not what is to be set.
store::LayerEdit read_layer_name(Fields& fields, const Scope& scope);
// {"port": 80}; complains about names and values that cannot be.
std::vector<std::pair<std::string, std::string>> read_values(Fields& fields, std::string_view field,
                                                             const base::Value& given);

// Variables that the caller may read: of the own scope, or such as reach a machine in it or nobody outside.
base::Result<bool> is_layer_visible(store::Store& store, const Scope& scope,
                                    const domain::VariableLayer& layer);
base::Result<std::vector<bool>> visible_layers(store::Store& store, const Scope& scope,
                                               std::span<const domain::VariableLayer> layers);

struct VariableChange {
  store::PutLayer put;
  std::vector<std::string> warnings = {};
};
// Writes it with its audit row, unless it says what is there already. Refused: what does not lie in the
// caller's scope as a whole, and what belongs to somebody else. Placing is up to the caller.
base::Result<VariableChange> put_variables(store::Store& store, const Scope& scope, const Actor& actor,
                                           store::LayerEdit edit, const std::string& why = {});

// The members of a layer, without the brackets.
void add_layer(base::JsonText& json, const domain::VariableLayer& layer);

}  // namespace backend::api
