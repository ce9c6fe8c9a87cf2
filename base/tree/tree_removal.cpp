#include "base/tree/tree_removal.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "base/files/folder_walk.hpp"
#include "base/tree/inode_flags.hpp"
#include "base/tree/scratch_place.hpp"

namespace base {

namespace {

class Removal {
 public:
  explicit Removal(Interrupt& interrupt) : interrupt_(interrupt) {}

  Result<void> empty(UniqueFd folder, const std::string& path, int depth) {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(folder.get()), ::closedir);
    if (!entries) return os_error(errno, "cannot read " + path);
    const int fd = folder.release();  // now the DIR's
    if (depth == 0) top_ = fd;
    do {
      if (depth == 0) {
        ::rewinddir(entries.get());
        is_moved_ = false;
      }
      if (auto emptied = empty_once(entries.get(), path, depth); !emptied) return emptied;
    } while (depth == 0 && is_moved_);
    return {};
  }

 private:
  // Each level holds a descriptor. What is deeper is moved to the top, and removed from there: so nobody can
  // keep us from removing his folders by nesting them.
  static constexpr int kMostOpen = 100;

  Result<void> empty_once(DIR* entries, const std::string& path, int depth) {
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(entries);
      if (!entry) break;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      if (interrupt_.requested()) return Error(ErrorCode::cancelled, "cancelled while removing " + path);
      if (auto removed = remove_entry(::dirfd(entries), entry->d_name, path, depth); !removed) return removed;
    }
    return errno == 0 ? Result<void>() : os_error(errno, "cannot read " + path);
  }

  Result<void> remove_entry(int folder, const char* name, const std::string& path, int depth) {
    const auto full = [&] { return path + "/" + name; };
    if (::unlinkat(folder, name, 0) == 0 || errno == ENOENT) return {};
    const int why = errno;
    // Folders answer EISDIR, mount points EBUSY; EPERM is allowed by POSIX and said of immutable files, too.
    if (why != EISDIR && why != EBUSY && why != EPERM) return os_error(why, "cannot remove " + full());
    UniqueFd below = open_subfolder(folder, name);
    if (!below && errno == EXDEV) return Error(ErrorCode::exists, full() + " is a mount point, not removed");
    if (!below && errno == ENOTDIR) return not_removed(why, folder, name, full());
    if (!below) return os_error(errno, "cannot open " + full());
    if (depth + 1 == kMostOpen) return move_to_top(folder, name, full());
    if (auto emptied = empty(std::move(below), full(), depth + 1); !emptied) return emptied;
    if (::unlinkat(folder, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
      return not_removed(errno, folder, name, full());
    return {};
  }

  static Error not_removed(int why, int folder, const char* name, const std::string& path) {
    const std::string locked =
        why == EPERM || why == EBUSY ? why_locked(folder, name, path, Changing::name) : std::string();
    if (!locked.empty()) return {ErrorCode::permission, "cannot remove " + path + ": " + locked};
    return os_error(why, "cannot remove " + path);
  }

  Result<void> move_to_top(int folder, const char* name, const std::string& path) {
    const std::string moved = new_scratch_name();
    if (::renameat(folder, name, top_, moved.c_str()) != 0 && errno != ENOENT)
      return os_error(errno, path + " is nested too deeply, and cannot be moved up to be removed");
    is_moved_ = true;
    return {};
  }

  Interrupt& interrupt_;
  int top_ = -1;
  bool is_moved_ = false;  // something was moved there since the top was read from its beginning
};

}  // namespace

Result<void> empty_folder(UniqueFd folder, const std::string& path, Interrupt& interrupt) {
  return Removal(interrupt).empty(std::move(folder), path, 0);
}

}  // namespace base
