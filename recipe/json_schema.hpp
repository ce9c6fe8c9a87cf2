// The JSON Schema of a whole recipe, for editors: made from the schemas of the state types.
//
// It accepts every recipe that `opsagent validate` accepts, as far as the states that are there are
// concerned, and some more: rules between parameters, ids and what depends on expressions are not in it.
// Numbers, true, false and null are accepted wherever a text is: what a scalar without quotes is, an editor
// decides by other rules than a recipe does. Pure.
#pragma once

#include <string>

#include "states/registry.hpp"

namespace recipe {

// JSON Schema, draft 2020-12, on one line.
std::string recipe_json_schema(const states::Registry& registry);

}  // namespace recipe
