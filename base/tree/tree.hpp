// Tree: the file system below a root, reached without being led astray.
//
// Folders are opened component by component. A symlink on the way is followed only if it belongs to root or
// to us, and lies in a folder that others cannot write to (way.hpp, others.hpp): a user who owns a folder
// cannot make a privileged reader or writer end up somewhere else, not even with a link that came to belong
// to root. So /var/run, /bin and other links in folders of root's are followed, links in /tmp, in home
// directories and in folders that a group may write to are not. With another root, absolute links and ".."
// stay below it. The last component is never followed, but by folder() and follow(), under the same rule. The
// way to the root itself is walked by this rule, too.
//
// Descriptors of folders are kept for a while (most states of a recipe live in a few folders), so a look at a
// file costs one system call. forget() drops them. One thread.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/way.hpp"
#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace base {

// "/a//b/" as folder "/a" and name "b"; the root itself has an empty name.
struct SplitPath {
  std::string_view folder;
  std::string_view name;
};
SplitPath split_path(std::string_view clean_path);

// The path without double and trailing slashes. Refused: relative ones, "." and ".." as components, NUL, over
// 4096 bytes.
Result<std::string> clean_path(std::string_view path);

// What will have become of paths by the time that counts: while a recipe is only planned, its earlier states
// would have changed some of them.
class PlannedPaths {
 public:
  enum class Use {
    way,      // of a folder: what is in it
    content,  // what is there, links followed: not its owner and mode
    all,
  };
  enum class Answer { as_it_is, missing, not_known };

  virtual ~PlannedPaths() = default;
  // Of a path without links on its way.
  virtual Answer answer(std::string_view path, Use use) = 0;
  // Of one that is missing: whether somebody who cannot be asked may put it there. `has_folder`: the folder
  // that it is in is there.
  virtual bool may_appear(std::string_view path, bool has_folder) = 0;
};

class Tree {
 public:
  explicit Tree(std::string root = {});

  const std::string& root() const { return root_; }

  // From now on, paths are seen as they will be: what will be gone is not found, and what cannot be told yet
  // is ErrorCode::unsupported. Null: as they are. It must outlive its use.
  void foresee(PlannedPaths* planned);

  // Whom to ask, from now on, whether to go on in the middle of a file that is large: when not, reading it
  // (but by read(), which has a limit) and writing it (TreeWriter) end with ErrorCode::cancelled. Null: on
  // to the end. It must outlive its use.
  void heed(Interrupt* interrupt) { interrupt_ = interrupt; }
  bool is_to_stop() const { return interrupt_ && interrupt_->requested(); }

  // All paths below are as clean_path() makes them, as seen from the root.

  // A borrowed descriptor (O_PATH) of a folder, valid until the next call of a function of this object.
  // ErrorCode::not_found when a component is missing, ErrorCode::exists when one is not a folder.
  Result<int> folder(std::string_view path);

  // lstat. Nothing when it, or a folder on the way, is missing.
  Result<std::optional<struct stat>> look(std::string_view path);

  // What a path leads to, links at its end followed under the rule of those on the way: O_PATH, whatever it
  // is. `also`: somebody whose links count as ours, for what is done in his name. Errors as folder(). The
  // path need not be clean, and ".." does not lead out of the root.
  Result<UniqueFd> follow(std::string_view path, std::optional<uid_t> also = std::nullopt);

  // The path that a path leads to, as follow() goes there: without any link, as seen from the root.
  Result<std::string> followed_path(std::string_view path);

  // Whether the regular file holds exactly these bytes.
  Result<bool> has_content(std::string_view path, std::string_view content);

  Result<std::string> read(std::string_view path, std::size_t limit);
  // Hands on the bytes of a regular file, piece by piece.
  Result<void> read_pieces(std::string_view path, const std::function<void(std::string_view)>& each);
  Result<std::string> read_link(std::string_view path);

  // The path without links on its way, as far as there are folders.
  std::string real_path(std::string_view path);
  // Whether what is at the end of a path is a link that is followed on the way to it: once something else is
  // there, the path leads elsewhere.
  bool leads_through_itself(std::string_view path);
  // What a link says that it leads to, as a path from the root, whether that is there or not.
  Result<std::string> link_destination(std::string_view link);
  // Where a path leads now, links at its end followed; "" when nowhere.
  std::string real_end(std::string_view path);

  void forget();

 private:
  struct Known {
    std::string path;
    UniqueFd fd;
  };
  Result<UniqueFd> open_folder(std::string_view path);
  Result<void> check(std::string_view path, PlannedPaths::Use use);
  Result<void> check_end(std::string_view path);
  Result<void> check_missing(std::string_view path, bool has_folder);
  WayRules rules(PlannedPaths::Use use);
  Result<UniqueFd> open_file(std::string_view path);

  static constexpr std::size_t kKeptFolders = 16;

  std::string root_;
  UniqueFd root_fd_;
  Error no_root_;  // why there is no root_fd_
  PlannedPaths* planned_ = nullptr;
  Interrupt* interrupt_ = nullptr;
  std::vector<Known> known_;  // most recently used last
  std::vector<char> buffer_;  // for has_content and read_pieces
};

}  // namespace base
