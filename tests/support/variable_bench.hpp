// Machines whose agents know variables, and recipes that use them, in a store.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backend/domain/variables/recipe_inputs.hpp"
#include "backend/store/inventory/variables.hpp"
#include "tests/support/store_bench.hpp"

namespace tests {

using backend::domain::LayerKind;

inline backend::domain::AgentSession join_with_variables(StoreBench& bench, const std::string& name,
                                                         const backend::domain::Tags& tags = {},
                                                         const backend::domain::Tags& said = {}) {
  auto hello = StoreBench::handshake(name, said);
  hello.capabilities = {"vars"};
  const auto session = bench.admit(hello).session;
  if (!tags.empty()) must(bench->set_operator_tags(session.instance, tags));
  return session;
}

// A recipe of comments that says of itself what it uses.
inline std::int64_t push_using(StoreBench& bench, const std::string& name,
                               const backend::domain::RecipeInputs& inputs, const std::string& ids = "a") {
  std::string content = "states:\n";
  for (const char id : ids)
    content += std::string("- {id: ") + id + ", module: meta.comment}\n";
  const auto checked = backend::domain::check_recipe(content);
  REQUIRE(checked.problems.empty());
  backend::domain::NewRevision revision{name,           content,        checked.syntax,
                                        checked.digest, checked.states, checked.state_count};
  revision.inputs = backend::domain::to_json(inputs);
  return must(backend::store::put_revision(*bench, revision, bench.now)).revision.revision;
}

inline backend::domain::RecipeInputs using_variables(std::vector<std::string> names) {
  backend::domain::RecipeInputs inputs{.are_needed = true};
  for (std::string& name : names)
    inputs.variables.push_back({.name = std::move(name), .is_used = true});
  return inputs;
}

inline backend::store::LayerEdit setting(LayerKind kind, const std::string& target,
                                         std::vector<std::pair<std::string, std::string>> values,
                                         std::optional<std::int64_t> order = {}) {
  backend::store::LayerEdit edit{.name = {.app_id = "default", .kind = kind, .target = target}};
  edit.edits.set = std::move(values);
  edit.order = order;
  edit.author = "ann";
  return edit;
}

inline backend::domain::VariableLayer set_variables(StoreBench& bench,
                                                    const backend::store::LayerEdit& edit) {
  return must(backend::store::put_layer(*bench, edit, bench.now)).layer;
}

inline std::string given_to(StoreBench& bench, const std::string& name) {
  const auto instance = must(bench->find_instance("default", name));
  return instance.placement == 0 ? "" : must(bench->find_placement(instance.placement)).vars;
}

}  // namespace tests
