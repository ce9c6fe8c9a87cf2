// Merging: what the layers that reach a machine come to. Pure.
//
// From weak to strong: the app, its selectors in order, the machine (the recipe's own `vars`, weaker than all
// of these, are merged by the agent). Mappings are merged key by key, however deep; anything else is
// replaced. A key stays where the weakest layer that has it put it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "backend/domain/variables/variable.hpp"

namespace backend::domain {

// Sorts from weak to strong.
void sort_layers(std::vector<VariableLayer>& layers);
// By which that is done.
std::tuple<LayerKind, std::int64_t, std::int64_t> strength_of(const VariableLayer& layer);

// One variable of several layers, from weak to strong: compact JSON each. The same texts give the same text.
std::string merge_values(std::span<const std::string_view> weak_to_strong);

// A value that is no mapping, or a mapping that is empty, and where it comes from.
struct ExplainedLeaf {
  std::string path;  // "nginx.port"
  std::string value;
  std::size_t layer = 0;  // among those that were given
  std::string author;
  Millis at = 0;
};
// All of them together; each is named with the whole path to it.
inline constexpr std::size_t kMostExplainedBytes = std::size_t{8} << 20;
// All leaves of all variables, or of one, in order. `layers` from weak to strong. `limit`: they are too many.
base::Result<std::vector<ExplainedLeaf>> explain_variables(std::span<const VariableLayer* const> layers,
                                                           std::string_view only = {});

}  // namespace backend::domain
