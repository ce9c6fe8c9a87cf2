// RecipeStore: the file with the last recipe that the agent accepted, so that it can start without its
// backend. Which recipe is in force is ActiveRecipe's to know; this only reads and writes.
//
// One file, replaced whole; 0600, because recipes carry secrets. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "agent/engine/messages.hpp"
#include "base/result.hpp"
#include "protocol/messages.hpp"
#include "recipe/recipe.hpp"

namespace agent::runtime {

struct StoredRecipe {
  std::int64_t version = 0;
  std::string digest;  // as the backend named it; may be empty
  engine::OnChange on_change = engine::OnChange::finish;
  std::optional<std::chrono::seconds> round_delay;
  recipe::ModuleSource module;  // as the backend named it; empty: no repository
  // What that stood for when the recipe was last run with it; "": it never was.
  std::string module_commit;
  std::string module_signer;
  std::string states;  // the JSON list, as it came
  // What it is filled in with, in the same file, so that both are always of one moment.
  std::string vars = {};     // a JSON object; "": the backend has sent none
  protocol::Tags tags = {};  // the operator's
  bool compat_v1 = false;    // taken as far as it can be: recipe::Inputs
  bool operator==(const StoredRecipe&) const = default;
};

class RecipeStore {
 public:
  explicit RecipeStore(std::string path) : path_(std::move(path)) {}

  // What a run before has left; nothing when there is none. An Error: there is one and it cannot be read.
  base::Result<std::optional<StoredRecipe>> load() const;

  // On disk when it returns, or, on an Error, what was there before.
  base::Result<void> store(const StoredRecipe& recipe) const;

 private:
  const std::string path_;
};

}  // namespace agent::runtime
