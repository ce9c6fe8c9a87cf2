// Recipe: an ordered list of states, read from a file or from the wire and checked whole.
//
// All that can be known to be wrong without a look at the machine is found here, and all of it at once. A
// Recipe is immutable; its states point into the document that it owns, so it is shared, not copied.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/control.hpp"
#include "recipe/document.hpp"
#include "recipe/inputs.hpp"
#include "recipe/unusable_state.hpp"
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
  // The same, but for a later state of a version 1 recipe that has the id of an earlier one: what is kept of
  // a state (waits, watch records, what modules remember) goes by it.
  std::string_view key;
  const states::StateType* type = nullptr;
  const states::ParamValues* params = nullptr;  // null when it is off, or of a check, not known
  std::optional<std::chrono::seconds> timeout;
  unsigned retries = 0;
  std::optional<When> when;
  bool sensitive = false;                        // contents and diffs never leave the host
  bool has_known_id = true;                      // false: of a check, and what depends on the machine
  bool is_off = false;                           // its expression `when` is false: there are no params
  bool is_unusable = false;                      // its type is an UnusableState: it fails in its turn
  base::Value parameter;                         // as written
  base::Value written{};                         // all of it, where it is unusable
  std::span<const states::RecipePart> recipe{};  // all states of the recipe that it is in, in order
  std::shared_ptr<const Control> control{};      // null: it has none of these keys
};

class Recipe {
 public:
  const std::string& name() const { return name_; }
  const std::vector<State>& states() const { return states_; }
  // SHA-256 of the text and, where that is not all, of what it was filled in with: equal for the same states
  // only. Computed when first asked for. One thread. It may be made of secrets, and is for root's files.
  const std::string& digest() const;
  // Whether some state may fail and the round goes on.
  bool continues_after_failures() const;
  // The states that follow the one at this place.
  std::span<const Follower> followers(std::size_t place) const {
    return followers_.empty() ? std::span<const Follower>() : followers_[place];
  }
  // Of the text alone.
  std::string text_digest() const;
  // It was loaded with Inputs::is_check: what depends on the machine is not in its states, and it must not
  // run.
  bool is_check() const { return is_check_; }
  // Whether anything in it was computed: with other Inputs it may be another recipe.
  bool is_rendered() const { return is_rendered_; }
  // The texts that it was read from, itself first; and the types that it may name. For who looks at how it is
  // written.
  const std::vector<std::unique_ptr<Source>>& sources() const { return sources_; }
  const states::Registry& registry() const { return *registry_; }
  // The secrets that were read, and every text that was made of one.
  const std::vector<std::string>& secrets() const { return secrets_; }

  Recipe() = default;
  Recipe(const Recipe&) = delete;
  Recipe& operator=(const Recipe&) = delete;

 private:
  friend class Loader;
  std::string name_;
  std::vector<State> states_;
  std::vector<states::RecipePart> parts_;         // of states_, which look at it
  Followers followers_;                           // by place; empty: nobody follows anybody
  std::vector<std::unique_ptr<Source>> sources_;  // the recipe's own first
  std::vector<std::string> secrets_;
  bool is_check_ = false;
  bool is_rendered_ = false;
  std::vector<std::unique_ptr<UnusableState>> unusable_;
  std::shared_ptr<const states::Registry> registry_;  // what types live in; null: whoever loaded it has it
  mutable std::string digest_;
};

struct Problem {
  std::string message;
  std::string state_id;  // "" when it is not about one state
  Position position;
  std::string file = {};  // that the recipe includes; "": the recipe itself
};

struct Loaded {
  std::shared_ptr<const Recipe> recipe;  // null when there is any problem
  std::vector<Problem> problems;
  std::vector<Problem> warnings;
  std::vector<ExplainedVariable> explained = {};  // of the state Inputs::explain
  // With problems: the ids of all states that have one, in order, so that each can be told of.
  std::vector<std::string> named = {};
};

// Where the recipe says that modules come from: its key `module`.
struct ModuleSource {
  std::string repo;
  std::string tag;
  std::string commit;  // that the tag must stand for; "": whatever it does
  bool operator==(const ModuleSource&) const = default;
};

// Called once, before the states are read, with what the recipe says: the state types that it may name, which
// the recipe keeps alive. An error becomes a problem of the recipe, where it names its modules.
using RegistryOf = std::function<base::Result<std::shared_ptr<const states::Registry>>(
    const std::optional<ModuleSource>& modules)>;

// `name` is shown in messages and decides the syntax by its ending. Expressions and templates are filled in
// with `inputs`.
Loaded load_text(std::string_view name, std::string text, const RegistryOf& registry_of,
                 const Inputs& inputs = {});
// With these types, whatever the recipe says of modules. The registry must outlive the recipe.
Loaded load_text(std::string_view name, std::string text, const states::Registry& registry,
                 const Inputs& inputs = {});

// The text of a file, or of standard input for "-", within the limit.
base::Result<std::string> read_recipe(const std::string& path);
Loaded load_file(const std::string& path, const states::Registry& registry);

// Whether two recipes ask for the same, state by state.
bool same_states(const Recipe& a, const Recipe& b);

// "web.yaml:12:7: [site] Unknown parameter 'mod' …", as compilers do it.
std::string describe(const Problem& problem, std::string_view file_name);

}  // namespace recipe
