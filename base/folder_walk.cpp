#include "base/folder_walk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <vector>

#include "base/file_read.hpp"
#include "base/text.hpp"

namespace base {

namespace {

constexpr int kReadFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// The kernel's number of the mount that a descriptor is on; bind mounts have one of their own.
std::optional<std::int64_t> mount_id(int fd) {
  constexpr std::string_view kRow = "mnt_id:";
  const auto text = read_file("/proc/self/fdinfo/" + std::to_string(fd), 64 * 1024);
  if (!text) return std::nullopt;
  for (std::string_view line : split(*text, '\n'))
    if (line.starts_with(kRow)) return parse_integer(trim(line.substr(kRow.size())));
  return std::nullopt;
}

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

struct CloseFolder {
  void operator()(DIR* entries) const { ::closedir(entries); }
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

// The folders that are open on the way down, and the loop over them.
class FolderWalk {
 public:
  FolderWalk(std::string_view path, Interrupt& interrupt, const Visit& visit)
      : path_(path), interrupt_(interrupt), visit_(visit) {}

  Result<void> enter(UniqueFd folder, std::string_view name) {
    constexpr std::size_t kDeepest = 1000;  // each level holds a descriptor
    if (levels_.size() == kDeepest)
      return Error(ErrorCode::limit, path_below(name) + " is nested too deeply");
    std::unique_ptr<DIR, CloseFolder> entries(::fdopendir(folder.get()));
    if (!entries) return os_error(errno, "cannot read " + path_below(name));
    (void)folder.release();  // now the DIR's
    levels_.push_back({std::move(entries), std::string(name)});
    return {};
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
        levels_.pop_back();
        continue;
      }
      const std::string_view name = next->d_name;
      if (name == "." || name == "..") continue;
      if (auto met = meet(::dirfd(entries), *next); !met) return met;
    }
    return {};
  }

 private:
  struct Level {
    std::unique_ptr<DIR, CloseFolder> entries;
    std::string name;
  };

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
    if (::fstatat(folder, next.d_name, &entry.info, AT_SYMLINK_NOFOLLOW) != 0)
      return errno == ENOENT ? Result<void>() : os_error(errno, "cannot look at " + entry.path());
    if (!S_ISDIR(entry.info.st_mode)) return visit_(entry);

    UniqueFd below = open_subfolder(folder, next.d_name);
    if (!below && (errno == ENOENT || errno == ELOOP || errno == ENOTDIR)) return {};  // replaced just now
    entry.is_mount = !below && errno == EXDEV;
    if (!below && !entry.is_mount) return os_error(errno, "cannot open " + entry.path());
    // Of what has been opened, whatever has the name by now.
    if (below && ::fstat(below.get(), &entry.info) != 0) return os_error(errno, entry.path());
    if (auto visited = visit_(entry); !visited || entry.is_mount) return visited;
    return enter(std::move(below), next.d_name);
  }

  std::string path_below(std::string_view name) const {
    std::string path = path_ == "/" ? std::string() : path_;
    for (const Level& level : levels_)
      if (!level.name.empty()) path.append("/").append(level.name);
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
