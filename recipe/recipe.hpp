// Recipe: an ordered list of states, read from a file or from the wire and checked whole.
//
// All that can be known to be wrong without a look at the machine is found here, and all of it at once. A
// Recipe is immutable; its states point into the document that it owns, so it is shared, not copied.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/document.hpp"
#include "states/registry.hpp"

namespace recipe {

// The condition under which a state runs; it is `skipped` otherwise. All that are given must hold.
struct When {
  states::List path_exists;
  states::List path_absent;
  states::List os;  // any of: distribution ("debian") or family ("rhel")
};

struct State {
  std::string_view id;
  const states::StateType* type = nullptr;
  const states::ParamValues* params = nullptr;  // never null in a Recipe
  std::optional<std::chrono::seconds> timeout;
  unsigned retries = 0;
  std::optional<When> when;
  bool sensitive = false;                        // contents and diffs never leave the host
  base::Value parameter;                         // as written
  std::span<const states::RecipePart> recipe{};  // all states of the recipe that it is in, in order
};

class Recipe {
 public:
  const std::string& name() const { return name_; }
  const std::vector<State>& states() const { return states_; }
  // SHA-256 of the text, computed when first asked for. One thread.
  const std::string& digest() const;

  Recipe() = default;
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;

 private:
  friend class Loader;
  std::string name_;
  std::vector<State> states_;
  std::vector<states::RecipePart> parts_;  // of states_, which look at it
  std::unique_ptr<Document> document_;
  mutable std::string digest_;
};

struct Problem {
  std::string message;
  std::string state_id;  // "" when it is not about one state
  Position position;
};

struct Loaded {
  std::shared_ptr<const Recipe> recipe;  // null when there is any problem
  std::vector<Problem> problems;
  std::vector<Problem> warnings;
};

// `name` is shown in messages and decides the syntax by its ending.
Loaded load_text(std::string_view name, std::string text, const states::Registry& registry);

// Reads a file, or standard input for "-".
Loaded load_file(const std::string& path, const states::Registry& registry);

// "web.yaml:12:7: [site] Unknown parameter 'mod' …", as compilers do it.
std::string describe(const Problem& problem, std::string_view file_name);

}  // namespace recipe
