// Overlay: what the earlier states of a recipe would have done by now, while a whole recipe is only planned.
//
// Empty in a real run, where earlier states have happened.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "states/plan.hpp"

namespace states {

class Overlay {
 public:
  struct Entry {
    Effect effect;
    std::string state_id;  // who would do it
  };

  void add(const std::string& state_id, const std::vector<Effect>& effects);

  bool empty() const { return entries_.empty() && !anything_; }

  // The effect on exactly this path (file, directory or link), user, group, package or unit; null if none.
  const Entry* path(std::string_view path) const;
  const Entry* find(EffectKind kind, std::string_view name) const;

  // Who might provide a thing that is missing now: its own entry, else a state that runs commands, else (for
  // units, users, groups and paths, which packages bring) a state that installs packages. Null if nobody can.
  const Entry* provider(EffectKind kind, std::string_view name) const;

 private:
  std::unordered_map<std::string, Entry> entries_;  // "<kind letter><name>"
  std::optional<Entry> anything_;
  std::optional<Entry> packages_;
};

}  // namespace states
