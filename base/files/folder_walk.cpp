#include "base/files/folder_walk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/files/mount_id.hpp"

namespace base {

namespace {

constexpr int kReadFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// For kernels (and sandboxes) without openat2.
UniqueFd open_and_compare_mounts(int folder, const char* name) {
  UniqueFd opened(::openat(folder, name, kReadFolder));
  if (!opened) return opened;
  const auto here = mount_id(folder);
  if (here && here == mount_id(opened.get())) return opened;
  opened.reset();
  errno = EXDEV;
  return opened;
}

struct Found {
  struct stat info {};
  bool is_mount = false;  // as far as the kernel says so: since 5.8
};

timespec time_of(const struct statx_timestamp& time) {
  return {.tv_sec = time.tv_sec, .tv_nsec = static_cast<long>(time.tv_nsec)};
}

// lstat, and whether it is a mount point: files can be that, too. 0, or -1 with errno.
int look_at(int folder, const char* name, Found& found) {
  struct statx is {};
  if (::statx(folder, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_BASIC_STATS, &is) != 0)
    return errno == ENOSYS || errno == EPERM ? ::fstatat(folder, name, &found.info, AT_SYMLINK_NOFOLLOW) : -1;
  struct stat& info = found.info;
  info.st_dev = ::gnu_dev_makedev(is.stx_dev_major, is.stx_dev_minor);
  info.st_rdev = ::gnu_dev_makedev(is.stx_rdev_major, is.stx_rdev_minor);
  info.st_ino = is.stx_ino;
  info.st_nlink = is.stx_nlink;
  info.st_mode = is.stx_mode;
  info.st_uid = is.stx_uid;
  info.st_gid = is.stx_gid;
  info.st_size = static_cast<off_t>(is.stx_size);
  info.st_blksize = static_cast<blksize_t>(is.stx_blksize);
  info.st_blocks = static_cast<blkcnt_t>(is.stx_blocks);
  info.st_atim = time_of(is.stx_atime);
  info.st_mtim = time_of(is.stx_mtime);
  info.st_ctim = time_of(is.stx_ctime);
  found.is_mount = (is.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  return 0;
}

struct CloseFolder {
  void operator()(DIR* entries) const { ::closedir(entries); }
};

// Which folder it is, also when the number of a removed one is used again.
struct Identity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t born_s = 0;
  std::uint32_t born_ns = 0;

  bool operator==(const Identity&) const = default;
};

std::optional<Identity> identity_of(int fd) {
  struct statx found {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &found) != 0) return std::nullopt;
  Identity is{.device = std::uint64_t{found.stx_dev_major} << 32U | found.stx_dev_minor,
              .inode = found.stx_ino};
  if ((found.stx_mask & STATX_BTIME) != 0) {
    is.born_s = found.stx_btime.tv_sec;
    is.born_ns = found.stx_btime.tv_nsec;
  }
  return is;
}

// A folder on the way down. The outer ones of many are closed until the walk comes back to them.
struct Level {
  std::unique_ptr<DIR, CloseFolder> entries;  // null while it is closed; from then on it has an identity
  std::string name;
  long position = 0;
  Identity identity;
};

}  // namespace

UniqueFd open_subfolder(int folder, const char* name) {
  open_how how{};
  how.flags = kReadFolder;
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;
  UniqueFd opened(static_cast<int>(::syscall(SYS_openat2, folder, name, &how, sizeof how)));
  if (!opened && (errno == ENOSYS || errno == EPERM)) return open_and_compare_mounts(folder, name);
  return opened;
}

// The folders on the way down, and the loop over them.
class FolderWalk {
 public:
  FolderWalk(std::string_view path, Interrupt& interrupt, const Visit& visit)
      : path_(path), interrupt_(interrupt), visit_(visit) {}

  Result<void> enter(UniqueFd folder, std::string_view name) {
    std::unique_ptr<DIR, CloseFolder> entries(::fdopendir(folder.get()));
    if (!entries) return os_error(errno, "cannot read " + path_below(name));
    (void)folder.release();  // now the DIR's
    levels_.push_back({.entries = std::move(entries), .name = std::string(name)});
    // The top stays open: all others can be found again from there.
    return levels_.size() > kMostOpen ? close_level(levels_.size() - kMostOpen) : Result<void>();
  }

  Result<void> go() {
    while (!levels_.empty()) {
      if (interrupt_.requested())
        return Error(ErrorCode::cancelled, "cancelled while going through " + path_);
      DIR* const entries = levels_.back().entries.get();
      errno = 0;
      const dirent* next = ::readdir(entries);
      if (!next && errno != 0) return os_error(errno, "cannot read " + path_below({}));
      if (!next) {
        if (auto left = leave(); !left) return left;
        continue;
      }
      const std::string_view name = next->d_name;
      if (name == "." || name == "..") continue;
      if (auto met = meet(::dirfd(entries), *next); !met) return met;
    }
    return {};
  }

 private:
  // Each open level holds a descriptor. Closed ones cost about a hundred bytes: the user who nests them runs
  // out of disk before that matters.
  static constexpr std::size_t kMostOpen = 100;

  Result<void> close_level(std::size_t number) {
    Level& level = levels_[number];
    if (!level.entries) return {};
    const auto identity = identity_of(::dirfd(level.entries.get()));
    if (!identity) return os_error(errno, "cannot look at " + path_below({}));
    level.identity = *identity;
    level.position = ::telldir(level.entries.get());
    level.entries.reset();
    return {};
  }

  // Back to the level above, which is opened again if it was closed. One that was moved away meanwhile is
  // left out like all that vanishes.
  Result<void> leave() {
    UniqueFd above;
    if (levels_.size() > 1 && !levels_[levels_.size() - 2].entries)
      above.reset(::openat(::dirfd(levels_.back().entries.get()), "..", kReadFolder));
    levels_.pop_back();
    while (!levels_.empty() && !levels_.back().entries) {
      Level& level = levels_.back();
      if (!above || identity_of(above.get()) != level.identity) above = find_from_top(levels_.size() - 1);
      if (!above) {
        levels_.pop_back();
        continue;
      }
      level.entries.reset(::fdopendir(above.get()));
      if (!level.entries) return os_error(errno, "cannot read " + path_below({}));
      (void)above.release();
      ::seekdir(level.entries.get(), level.position);
    }
    return {};
  }

  UniqueFd find_from_top(std::size_t number) {
    UniqueFd at;
    for (std::size_t i = 1; i <= number; ++i) {
      const Level& level = levels_[i];
      at = open_subfolder(at ? at.get() : ::dirfd(levels_.front().entries.get()), level.name.c_str());
      if (!at || identity_of(at.get()) != level.identity) return {};
    }
    return at;
  }

  Result<void> meet(int folder, const dirent& next) {
    WalkEntry entry;
    entry.folder = folder;
    entry.name = next.d_name;
    entry.walk_ = this;
    entry.path_of_ = [](const void* walk, const char* name) {
      return static_cast<const FolderWalk*>(walk)->path_below(name);
    };
    if (next.d_type == DT_LNK) {
      entry.info.st_mode = S_IFLNK;
      return visit_(entry);
    }
    Found found;
    if (look_at(folder, next.d_name, found) != 0)
      return errno == ENOENT ? Result<void>() : os_error(errno, "cannot look at " + entry.path());
    entry.info = found.info;
    if (!S_ISDIR(entry.info.st_mode)) {
      entry.is_mount = found.is_mount;
      return visit_(entry);
    }

    UniqueFd below = open_subfolder(folder, next.d_name);
    if (!below && (errno == ENOENT || errno == ELOOP || errno == ENOTDIR)) return {};  // replaced just now
    entry.is_mount = !below && errno == EXDEV;
    if (!below && !entry.is_mount) return os_error(errno, "cannot open " + entry.path());
    // Of what has been opened, whatever has the name by now.
    if (below && ::fstat(below.get(), &entry.info) != 0) return os_error(errno, entry.path());
    if (auto visited = visit_(entry); !visited || entry.is_mount) return visited;
    return enter(std::move(below), next.d_name);
  }

  // Of what is nested so deeply that no path leads there, the ends.
  std::string path_below(std::string_view name) const {
    constexpr std::size_t kLongest = 4096;
    std::string path = path_ == "/" ? std::string() : path_;
    const std::size_t top = path.size();
    for (const Level& level : levels_) {
      if (!level.name.empty()) path.append("/").append(level.name);
      if (path.size() <= kLongest) continue;
      path.resize(top);
      path.append("/…/").append(levels_.back().name);
      break;
    }
    if (!name.empty()) path.append("/").append(name);
    return path;
  }

  std::string path_;
  Interrupt& interrupt_;
  const Visit& visit_;
  std::vector<Level> levels_;
};

Result<void> walk_below(int folder, std::string_view path, Interrupt& interrupt, const Visit& visit) {
  UniqueFd top(::openat(folder, ".", kReadFolder));
  if (!top) return os_error(errno, "cannot open " + std::string(path));
  FolderWalk walk(path, interrupt, visit);
  if (auto entered = walk.enter(std::move(top), {}); !entered) return entered;
  return walk.go();
}

}  // namespace base
