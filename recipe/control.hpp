// Control: whether and when a state runs, by what other states of the recipe have done: `on_change_of`,
// `restart_on`, `reload_on`, `once`, `require` and `continue_on_failure`. Only recipes of version 2 have
// these keys; docs/recipes-control.md says what they mean.
//
// States run in order, so a state can only follow or require those before it: these keys name earlier states,
// by their ids or by patterns, and a Control has their places in the recipe.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/values/arena.hpp"
#include "base/values/value.hpp"

namespace states {
class StateType;
}

namespace recipe {

struct State;

// What a state does when one that it follows has changed something.
enum class Reaction { run, restart, reload };

struct Control {
  using Places = std::vector<std::size_t>;  // of earlier states, in order, each once

  Places on_change_of;
  Places restart_on;
  Places reload_on;
  Places require;
  std::string_view once;   // the key; "": none
  bool continues = false;  // a failure does not end the round

  const Places& followed_by(Reaction reaction) const;
  bool operator==(const Control&) const = default;
};

// A state that follows another one.
struct Follower {
  std::size_t place = 0;
  Reaction reaction = Reaction::run;
};
using Followers = std::vector<std::vector<Follower>>;

// Reads these keys. First those of each state, in the order of the recipe; then, when all ids are known, what
// they name. Problems go to `note`, each with the state that it is about. One thread.
class ControlReader {
 public:
  using Note = std::function<void(std::string message, std::string_view state_id, std::uint32_t offset)>;
  explicit ControlReader(Note note) : note_(std::move(note)) {}

  // In the wire's form, which has no version, all of them are one condition of a state's `when`: an agent
  // that does not know it refuses the recipe, instead of running the state in every round.
  static constexpr std::string_view kOnTheWire = "control";
  static constexpr std::array<std::string_view, 6> kKeys{"on_change_of", "restart_on", "reload_on",
                                                         "once",         "require",    "continue_on_failure"};
  static constexpr std::string_view kKeyOfRecipe = "continue_on_failure";
  static bool is_key(std::string_view key);
  // These keys and the others of a state.
  static std::vector<std::string_view> with_keys(std::span<const std::string_view> others);

  // The recipe's own continue_on_failure: what holds for states that do not say theirs.
  void read_default(const base::Value& value);

  // The next state begins. What is read from now on is about it. `continues`: what its file says for all its
  // states. `part`: patterns match the ids of states of the same part only.
  void begin_state(std::string_view id, std::optional<bool> continues = {}, std::size_t part = 0);
  // One of kKeys. Its texts are in the arena afterwards, or in the document.
  void read(const base::Member& member, base::Arena& arena);
  // All of them, as the wire has them.
  void read_wire(const base::Value& value, base::Arena& arena);

  // Finds what was named, and gives each state its Control. `states` are those without problems.
  void finish(std::vector<State>& states);
  // Who follows whom; empty: nobody.
  static Followers followers_of(const std::vector<State>& states);

 private:
  struct Name {
    std::string_view text;
    std::uint32_t offset = 0;
  };
  struct Read {
    std::string_view id;
    std::vector<Name> on_change_of, restart_on, reload_on, require;
    std::string_view once;
    std::optional<bool> continues, of_file;
    std::size_t part = 0;
    std::uint32_t restart_offset = 0, reload_offset = 0;
    bool has_any = false;
  };
  std::vector<Name> read_names(const base::Member& member, base::Arena& arena);
  void read_once(const base::Member& member, base::Arena& arena);
  Control::Places find(std::size_t place, std::string_view key, const std::vector<Name>& names);
  void find_one(std::size_t place, std::string_view key, const Name& name, Control::Places& found);
  void find_pattern(std::size_t place, std::string_view key, const Name& name, Control::Places& found);
  void check_orders(const Read& read, const states::StateType& type);
  void problem(std::string message, std::uint32_t offset, std::string_view id) {
    note_(std::move(message), id, offset);
  }

  Note note_;
  std::vector<Read> read_;  // by place
  std::optional<bool> default_;
  std::unordered_map<std::string_view, std::size_t> places_;  // by id
  std::size_t found_ = 0;                                     // of all states together
  std::size_t compared_ = 0;                                  // ids with patterns
  std::size_t steps_ = 0;                                     // of that
  std::size_t not_found_ = 0;
  bool has_unknown_ids_ = false;  // of a check: whom a name means, only the machine can tell
};

}  // namespace recipe
