// Lint: what is allowed in a recipe and probably not meant, or dangerous. Each rule is a row of rules(), with
// its reason and its fix; docs/lint.md has the same table.
//
// It goes by how a recipe is written: of what is computed it says nothing. No finding has the value in it
// that it is about: it may be a secret. Pure: the machine is not looked at. One thread a call.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/recipe.hpp"

namespace recipe::lint {

struct Written;
class Notes;

struct Rule {
  std::string_view name;
  std::string_view finds;  // what it is about: "a command that runs in every round"
  std::string_view reason;
  std::string_view fix;
  bool is_asked_for = false;  // looked for only when it is named
  void (*look)(const Written&, Notes&) = nullptr;
};
// All of them, by name.
std::span<const Rule> rules();
const Rule* find_rule(std::string_view name);

struct Finding {
  const Rule* rule = nullptr;
  std::string message;
  std::string state_id;  // "" when it is not about one state, or that has no id
  Position position;
  std::string file;  // that the recipe includes; "": the recipe itself
};

// Which rules count: all but those that are asked for, with these and without those.
struct Choice {
  std::vector<std::string> with = {};
  std::vector<std::string> without = {};
};

inline constexpr std::size_t kMostFindings = 200;

// By file, line and column, at most kMostFindings. What a state, or the file, says under the key `_lint` is
// left out.
std::vector<Finding> lint(const Recipe& recipe, const Choice& choice = {});

}  // namespace recipe::lint
