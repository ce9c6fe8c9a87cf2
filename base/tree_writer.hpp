// TreeWriter: the only way in which states change the file system.
//
// Content goes to a temporary file in its target's folder, gets owner and mode by descriptor, and only then
// the name: nobody ever sees a part of a file, and a failed write leaves the old one. What replaces a file is
// synced before the rename; what is new is synced with its SyncGroup, before its result is told to anybody.
// Symlinks on the way are treated as Tree does. One thread.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "base/sync_group.hpp"
#include "base/tree.hpp"

namespace base {

struct Attributes {
  std::optional<uid_t> uid;  // absent: left alone (ours for what is new)
  std::optional<gid_t> gid;
  std::optional<mode_t> mode;
};

class TreeWriter {
 public:
  TreeWriter(Tree& tree, SyncGroup& sync) : tree_(tree), sync_(sync) {}

  // All paths are clean_path()s as seen from the tree's root; the folder must exist.

  // Creates the file or replaces whatever file or link has the name.
  Result<void> write_file(std::string_view path, std::string_view content, const Attributes& attributes);
  // A new folder, which appears with its owner and mode. ErrorCode::exists when there is something already.
  Result<void> make_folder(std::string_view path, const Attributes& attributes);
  // Creates the link, or replaces another link or file in one step.
  Result<void> make_link(std::string_view path, std::string_view destination, const Attributes& attributes);
  // Owner and mode of what is there. Symlinks: the owner of the link itself; their mode is left alone.
  Result<void> set_attributes(std::string_view path, const Attributes& attributes);
  // The same for the folder that the path leads to, through a link of root's at its end too (Tree::folder).
  Result<void> set_folder_attributes(std::string_view path, const Attributes& attributes);
  // Owner and mode of all that is below that folder, as `choose` says for each (nothing: left alone). Links
  // are left alone, other mounts are not entered. Answers how many were changed.
  using Choose = std::function<std::optional<Attributes>(const struct stat&)>;
  Result<std::size_t> set_attributes_below(std::string_view path, const Choose& choose, Interrupt& interrupt);
  // A file, link, socket …, not a folder. Nothing there: fine.
  Result<void> remove(std::string_view path);
  // A folder and everything below it; stops at mount points with an error.
  Result<void> remove_tree(std::string_view path, Interrupt& interrupt);

  // The name of the temporary that write_file, make_folder and make_link use for this path, when they need
  // one. A leftover of a killed run that is in their way is taken away.
  static std::string scratch_path(std::string_view path);
  // Removes such a leftover, by its own path. Nothing there: fine.
  Result<void> remove_scratch(std::string_view scratch);

 private:
  Result<void> put_file(std::string_view path, std::string_view content, const Attributes& attributes);
  Result<void> note_change(int folder, bool link_is_gone = false);

  Tree& tree_;
  SyncGroup& sync_;
};

}  // namespace base
