// Cursor: where in its recipe a worker was stopped that is to go on there: an update came in the middle of a
// round. A small file, on disk when a write returns. What a kill interrupts is in the journal instead.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace agent::engine {

class Cursor {
 public:
  explicit Cursor(std::string path) : path_(std::move(path)) {}

  // The state with this index is the next one of the recipe with this digest.
  base::Result<void> keep(const std::string& digest, std::size_t index) const;
  // Nothing when there is none, or it is about another recipe.
  std::optional<std::size_t> find(const std::string& digest) const;
  // The round is over.
  base::Result<void> drop() const;

 private:
  std::string path_;
};

}  // namespace agent::engine
