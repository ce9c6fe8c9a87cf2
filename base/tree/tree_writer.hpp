// TreeWriter: the only way in which states change the file system.
//
// Content goes to a temporary file in its target's folder, gets owner and mode by descriptor, and only then
// the name: nobody ever sees a part of a file, and a failed write leaves the old one. What replaces a file is
// synced before the rename; what is new is synced with its SyncGroup, before its result is told to anybody.
//
// Users who own folders are taken for attackers who rename things between any two of our calls. Symlinks on
// the way are treated as Tree does; what is new is made where only we can touch it (ScratchPlace); owner and
// mode are set by descriptor, on the inode that the plan has seen. Writing of what is large stops when
// Tree::heed says so: the old file stays. One thread.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "base/tree/attributes.hpp"
#include "base/tree/inode_flags.hpp"
#include "base/tree/seen.hpp"
#include "base/tree/sync_group.hpp"
#include "base/tree/tree.hpp"

namespace base {

class TreeWriter {
 public:
  TreeWriter(Tree& tree, SyncGroup& sync) : tree_(tree), sync_(sync) {}

  // All paths are clean_path()s as seen from the tree's root; the folder must exist. `seen` is what the plan
  // found at the path: when something else is there by now, nothing is changed, and ErrorCode::exists.

  // Creates the file or replaces whatever file or link has the name. What carry_over.hpp says of a file that
  // is replaced goes onto the new one.
  Result<void> write_file(std::string_view path, const Seen& seen, std::string_view content,
                          const Attributes& attributes);
  // A new folder, which appears with its owner and mode. ErrorCode::exists when there is something already.
  Result<void> make_folder(std::string_view path, const Attributes& attributes);
  // Creates the link, or replaces another link or file in one step. Links have no mode.
  Result<void> make_link(std::string_view path, const Seen& seen, std::string_view destination,
                         const Attributes& attributes);
  // Owner and mode of a file or folder that is there. Refused for links: a new one is as good, and surely
  // leads where it should. Refused for files in folders that others can write to where the kernel lets users
  // make hard links to files of others (fs.protected_hardlinks is 0): it may be anybody's. Refused, too, as
  // set_attributes_of_found() does.
  Result<void> set_attributes(std::string_view path, const Seen& seen, const Attributes& attributes);
  // The same for the folder that the path leads to, through a link at its end that Tree follows.
  Result<void> set_folder_attributes(std::string_view path, const Seen& seen, const Attributes& attributes);
  // Owner and mode of all that is below that folder, as `choose` says for each (nothing: left alone). Links
  // are left alone, other mounts are not entered. Answers how many were changed. Files that somebody has open
  // for writing, and who would lose that, are left as they are: an error in the end.
  using Choose = std::function<std::optional<Attributes>(const struct stat&)>;
  Result<std::size_t> set_attributes_below(std::string_view path, const Seen& seen, const Choose& choose,
                                           Interrupt& interrupt);
  // A file, link, socket …, not a folder. Nothing there: fine.
  Result<void> remove(std::string_view path, const Seen& seen);
  // A folder and everything below it; stops at mount points with an error.
  Result<void> remove_tree(std::string_view path, const Seen& seen, Interrupt& interrupt);

  // Replaces a regular file by another one with the same content, owner and mode: a failed sync, or a kill,
  // has left it in doubt (base/files/write_again.hpp). Its content is on disk when it returns. Anything else
  // there, or nothing: fine.
  Result<void> write_again(std::string_view path);

  // Temporaries get another name from now on: random, so that nobody can be there before us.
  void renew_scratch();
  // Where write_file, make_folder and make_link have their temporary for this path until the next
  // renew_scratch(), when they need one: for a journal, so that it can be removed after a kill.
  std::string scratch_path(std::string_view path);
  // Removes what a killed run has left there. Nothing there: fine.
  Result<void> remove_scratch(std::string_view scratch);

 private:
  using Fill = std::function<Result<void>(int fd)>;
  Result<void> put_file(std::string_view path, const Seen& seen, const Fill& fill,
                        const Attributes& attributes);
  Result<void> put_link(std::string_view path, const Seen& seen, const std::string& destination,
                        const Attributes& attributes);
  Error explained(Error why, std::string_view path, Changing what);
  Result<void> note_change(int folder, bool link_is_gone = false);
  const std::string& scratch_name();

  Tree& tree_;
  SyncGroup& sync_;
  std::string scratch_name_;  // of temporaries; "" until one is needed
};

}  // namespace base
