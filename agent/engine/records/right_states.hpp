// RightStates: which states of a recipe have been as asked before, so that a change can be told to be drift.
// Kept across restarts, and for what a new recipe has in common with the one before.
//
// A small file, replaced when a round has made a state right that was not: see docs/formats.md. One thread:
// the worker's. What it cannot read it takes for nothing; a write that fails is an Error, and tried again.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "recipe/recipe.hpp"

namespace agent::engine {

class RightStates {
 public:
  explicit RightStates(std::string path) : path_(std::move(path)) {}

  // From now on it is about this recipe. Reads the file.
  void adopt(const recipe::Recipe& recipe);

  bool contains(std::size_t index) const { return right_[index]; }
  void set(std::size_t index, bool is_right);

  // On disk when it returns; does nothing when the file says so already.
  base::Result<void> save(const recipe::Recipe& recipe);

 private:
  const std::string path_;
  std::vector<bool> right_;  // per state of the recipe
  bool is_saved_ = true;
};

}  // namespace agent::engine
