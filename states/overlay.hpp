// Overlay: what the earlier states of a recipe would have done by now, while a whole recipe is only planned.
//
// It is asked by states for names that they know, and by the tree for every path that is walked: so a folder
// that would be gone, or a link that would lead elsewhere, counts for all that is below it, under whichever
// name. Empty in a real run, where earlier states have happened. One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/tree/tree.hpp"
#include "states/plan.hpp"

namespace states {

class Overlay final : public base::PlannedPaths {
 public:
  struct Entry {
    Effect effect;
    std::string state_id;   // who would do it
    bool is_fresh = false;  // a directory in the place of one that would be gone: nothing of that is in it
  };

  // Paths under the name that the state uses; add them under their real_path(), too.
  void add(const std::string& state_id, const std::vector<Effect>& effects);

  bool empty() const { return entries_.empty() && !anything_; }

  // Somebody who would do something, for those who cannot say what they depend on; null when nobody would.
  const Entry* anybody() const {
    if (anything_) return &*anything_;
    return entries_.empty() ? nullptr : &entries_.begin()->second;
  }

  // The effect on exactly this path (file, directory or link), user, group, package or unit; null if none.
  const Entry* path(std::string_view path) const;
  const Entry* find(EffectKind kind, std::string_view name) const;
  // The same for those who follow links: where one that would be there leads is not known.
  const Entry* followed(std::string_view path) const;

  // The effect on something below this path (without links on its way), or null.
  const Entry* below(std::string_view path) const;
  // The effect that makes something else of what is at this path, or below it, than is there now, or null.
  const Entry* concerning(std::string_view path) const;

  // Who might provide a thing that is missing now: its own entry, else (for units, users, groups and paths,
  // which packages bring) a state that installs packages, one of that name before others, else a state that
  // runs commands. Null if nobody can.
  const Entry* provider(EffectKind kind, std::string_view name) const;

  // The state with a command that names this path, or a folder above it: what is there may be gone by then.
  const Entry* command_naming(std::string_view path) const;

  Answer answer(std::string_view path, Use use) override;
  // Packages bring files that cannot be told before. Where they put theirs, one that is missing is counted
  // among them, but for those in folders that many packages share: there a file has the name of its package
  // (Debian's policy for cron.d, default, init.d and their like). One by another name only leaves a remark.
  bool may_appear(std::string_view path, bool has_folder) override;
  // To see what would become of a state if they brought nothing.
  void assume_nothing_is_brought(bool on) { nothing_is_brought_ = on; }

  // Something that cannot be told yet was asked for since the last call: by whom it would be done. Null: all
  // answers were certain.
  const Entry* take_doubt() const { return std::exchange(doubt_, nullptr); }
  // The remark: a path was taken for missing that a package might bring after all. Who finds nothing to do
  // for that reason alone cannot be sure of it.
  const Entry* take_remark() const { return std::exchange(remark_, nullptr); }

 private:
  using Entries = std::map<std::string, Entry, std::less<>>;  // by "<kind letter><name>"

  bool will_be_gone(std::string_view path) const;
  const Entry* package_named_in(std::string_view thing) const;
  const Entry* doubtful(const Entry& entry) const { return doubt_ = &entry; }

  Entries entries_;
  std::optional<Entry> anything_;
  Entries named_in_commands_;  // by path
  std::optional<Entry> packages_;
  bool nothing_is_brought_ = false;
  mutable const Entry* doubt_ = nullptr;   // what was asked for, not what is planned
  mutable const Entry* remark_ = nullptr;  // the same
};

}  // namespace states
