#include "base/tree_writer.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

namespace base {

namespace {

constexpr uid_t kSameUid = static_cast<uid_t>(-1);
constexpr gid_t kSameGid = static_cast<gid_t>(-1);

std::string scratch_name(std::string_view name) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a: a stable name of bounded length
  for (const char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char text[40];
  std::snprintf(text, sizeof text, ".opsagent-%016llx.tmp", static_cast<unsigned long long>(hash));
  return text;
}

Result<void> write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return os_error(errno, "cannot write");
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> set_by_descriptor(int fd, const Attributes& attributes) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return os_error(errno, "fstat");
  const uid_t uid = attributes.uid.value_or(kSameUid);
  const gid_t gid = attributes.gid.value_or(kSameGid);
  const bool other_owner = (attributes.uid && uid != st.st_uid) || (attributes.gid && gid != st.st_gid);
  if (other_owner && ::fchown(fd, uid, gid) != 0) return os_error(errno, "cannot set the owner");
  // After the owner: chown clears set-user-id bits.
  if (attributes.mode && ((st.st_mode & 07777) != *attributes.mode || other_owner) &&
      ::fchmod(fd, *attributes.mode) != 0)
    return os_error(errno, "cannot set the mode");
  return {};
}

// A new temporary in the folder. One that is there already is a leftover of a killed run (or an attempt to be
// in the way).
Result<UniqueFd> create_scratch(int folder, const std::string& name) {
  for (int attempt = 0; attempt < 3; ++attempt) {
    UniqueFd fd(::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd) return fd;
    if (errno != EEXIST) break;
    if (::unlinkat(folder, name.c_str(), 0) != 0 && errno != ENOENT) break;
  }
  return os_error(errno, "cannot create a temporary file");
}

// Opens a sub-folder for reading its entries, refusing links and mount points.
int open_below(int folder, const char* name) {
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;
  return static_cast<int>(::syscall(SYS_openat2, folder, name, &how, sizeof how));
}

Result<void> empty_folder(UniqueFd folder, const std::string& path, Interrupt& interrupt, int depth) {
  constexpr int kDeepest = 1000;  // each level holds a descriptor
  if (depth > kDeepest) return Error(ErrorCode::limit, path + " is nested too deeply");
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(folder.get()), ::closedir);
  if (!entries) return os_error(errno, "cannot read " + path);
  const int fd = folder.release();  // now the DIR's
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(entries.get());
    if (!entry) break;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (interrupt.requested()) return Error(ErrorCode::cancelled, "cancelled while removing " + path);
    if (::unlinkat(fd, name.c_str(), 0) == 0) continue;
    if (errno != EISDIR && errno != EPERM) return os_error(errno, "cannot remove " + path + "/" + name);
    UniqueFd below(open_below(fd, name.c_str()));
    if (!below && errno == EXDEV)
      return Error(ErrorCode::exists, path + "/" + name + " is a mount point, not removed");
    if (!below) return os_error(errno, "cannot open " + path + "/" + name);
    if (auto emptied = empty_folder(std::move(below), path + "/" + name, interrupt, depth + 1); !emptied)
      return emptied;
    if (::unlinkat(fd, name.c_str(), AT_REMOVEDIR) != 0)
      return os_error(errno, "cannot remove " + path + "/" + name);
  }
  if (errno != 0) return os_error(errno, "cannot read " + path);
  return {};
}

}  // namespace

std::string TreeWriter::scratch_path(std::string_view path) {
  const SplitPath parts = split_path(path);
  return std::string(parts.folder == "/" ? "" : parts.folder) + "/" + scratch_name(parts.name);
}

Result<void> TreeWriter::note(int folder) {
  return sync_.note(folder);
}

Result<void> TreeWriter::write_file(std::string_view path, std::string_view content,
                                    const Attributes& attributes) {
  const SplitPath parts = split_path(path);
  const std::string context = "writing " + std::string(path);
  auto folder = tree_.folder(parts.folder);
  if (!folder) return std::move(folder).error().with_context(context);
  const std::string name(parts.name);
  const std::string scratch = scratch_name(name);
  auto file = create_scratch(*folder, scratch);
  if (!file) return std::move(file).error().with_context(context);

  const auto give_up = [&](Error error) -> Result<void> {
    ::unlinkat(*folder, scratch.c_str(), 0);
    return std::move(error).with_context(context);
  };
  if (auto written = write_all(file->get(), content); !written) return give_up(std::move(written).error());
  if (auto set = set_by_descriptor(file->get(), attributes); !set) return give_up(std::move(set).error());
  const bool replaces = ::faccessat(*folder, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  if (replaces && ::fsync(file->get()) != 0) return give_up(os_error(errno, "cannot write to disk"));
  if (auto noted = note(*folder); !noted) return give_up(std::move(noted).error());
  if (::renameat(*folder, scratch.c_str(), *folder, name.c_str()) != 0)
    return give_up(os_error(errno, "cannot rename"));
  return {};
}

Result<void> TreeWriter::make_folder(std::string_view path, const Attributes& attributes) {
  const SplitPath parts = split_path(path);
  const std::string context = "creating " + std::string(path);
  auto folder = tree_.folder(parts.folder);
  if (!folder) return std::move(folder).error().with_context(context);
  const std::string name(parts.name);
  if (::mkdirat(*folder, name.c_str(), 0700) != 0) return os_error(errno, context);
  const UniqueFd made(::openat(*folder, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made) return os_error(errno, context);
  if (auto set = set_by_descriptor(made.get(), attributes); !set)
    return std::move(set).error().with_context(context);
  return note(made.get());
}

Result<void> TreeWriter::make_link(std::string_view path, std::string_view destination,
                                   const Attributes& attributes) {
  const SplitPath parts = split_path(path);
  const std::string context = "linking " + std::string(path);
  auto folder = tree_.folder(parts.folder);
  if (!folder) return std::move(folder).error().with_context(context);
  const std::string scratch = scratch_name(parts.name);
  ::unlinkat(*folder, scratch.c_str(), 0);
  const auto give_up = [&](int error) -> Result<void> {
    ::unlinkat(*folder, scratch.c_str(), 0);
    return os_error(error, context);
  };
  if (::symlinkat(std::string(destination).c_str(), *folder, scratch.c_str()) != 0)
    return os_error(errno, context);
  if ((attributes.uid || attributes.gid) &&
      ::fchownat(*folder, scratch.c_str(), attributes.uid.value_or(kSameUid),
                 attributes.gid.value_or(kSameGid), AT_SYMLINK_NOFOLLOW) != 0)
    return give_up(errno);
  if (::renameat(*folder, scratch.c_str(), *folder, std::string(parts.name).c_str()) != 0)
    return give_up(errno);
  return note(*folder);
}

Result<void> TreeWriter::set_attributes(std::string_view path, const Attributes& attributes) {
  const SplitPath parts = split_path(path);
  const std::string context = "setting owner and mode of " + std::string(path);
  auto folder = tree_.folder(parts.folder);
  if (!folder) return std::move(folder).error().with_context(context);
  const UniqueFd target(::openat(*folder, parts.name.empty() ? "." : std::string(parts.name).c_str(),
                                 O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!target) return os_error(errno, context);
  struct stat st {};
  if (::fstat(target.get(), &st) != 0) return os_error(errno, context);
  if ((attributes.uid || attributes.gid) &&
      ::fchownat(target.get(), "", attributes.uid.value_or(kSameUid), attributes.gid.value_or(kSameGid),
                 AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0)
    return os_error(errno, context);
  // fchmod() does not take O_PATH descriptors; their entry in /proc leads to the very same inode.
  const std::string by_descriptor = "/proc/self/fd/" + std::to_string(target.get());
  if (attributes.mode && !S_ISLNK(st.st_mode) && ::chmod(by_descriptor.c_str(), *attributes.mode) != 0)
    return os_error(errno, context);
  return note(*folder);
}

Result<void> TreeWriter::remove(std::string_view path) {
  const SplitPath parts = split_path(path);
  auto folder = tree_.folder(parts.folder);
  if (!folder)
    return folder.error().code() == ErrorCode::not_found ? Result<void>() : std::move(folder).error();
  if (::unlinkat(*folder, std::string(parts.name).c_str(), 0) != 0 && errno != ENOENT)
    return os_error(errno, "cannot remove " + std::string(path));
  return note(*folder);
}

Result<void> TreeWriter::remove_tree(std::string_view path, Interrupt& interrupt) {
  const SplitPath parts = split_path(path);
  const std::string name(parts.name);
  auto found = tree_.folder(parts.folder);
  if (!found) return std::move(found).error();
  const UniqueFd folder(::fcntl(*found, F_DUPFD_CLOEXEC, 0));  // forget() below must not close it
  tree_.forget();
  UniqueFd top(open_below(folder.get(), name.c_str()));
  if (!top && errno == EXDEV)
    return Error(ErrorCode::exists, std::string(path) + " is a mount point, not removed");
  if (!top) return os_error(errno, "cannot open " + std::string(path));
  if (auto emptied = empty_folder(std::move(top), std::string(path), interrupt, 0); !emptied) return emptied;
  if (::unlinkat(folder.get(), name.c_str(), AT_REMOVEDIR) != 0)
    return os_error(errno, "cannot remove " + std::string(path));
  return note(folder.get());
}

}  // namespace base
