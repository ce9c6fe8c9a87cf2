#include "agent/cli/input/replace_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "agent/cli/input/recipe_input.hpp"
#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/token.hpp"
#include "base/tree/carry_over.hpp"
#include "base/unique_fd.hpp"

namespace agent::cli {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::UniqueFd;

Result<void> write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0)
      text.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      return base::os_error(errno, "writing");
  }
  return {};
}

Result<void> fill(int fd, std::string_view text, const struct stat& found, const base::CarryOver& carried,
                  int old) {
  if (auto written = write_all(fd, text); !written) return written;
  struct stat ours {};
  if (::fstat(fd, &ours) != 0) return base::os_error(errno, "writing");
  const bool is_theirs = ours.st_uid != found.st_uid || ours.st_gid != found.st_gid;
  if (is_theirs && ::fchown(fd, found.st_uid, found.st_gid) != 0)
    return base::os_error(errno, "it would not keep its owner and group");
  if (::fchmod(fd, found.st_mode & 07777) != 0) return base::os_error(errno, "it would not keep its mode");
  if (auto kept = base::carry_over(carried, old, fd); !kept) return kept;
  if (::fsync(fd) != 0) return base::os_error(errno, "syncing");
  return {};
}

// All but the last step. `whole`: the path without links.
Result<void> put_in_place(const std::string& whole, std::string_view before, std::string_view after) {
  const std::size_t slash = whole.rfind('/');
  const std::string folder_name = slash == 0 ? "/" : whole.substr(0, slash);
  const std::string name = whole.substr(slash + 1);
  const UniqueFd folder(::open(folder_name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return base::os_error(errno, folder_name);
  const UniqueFd old(::openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat found {};
  if (!old || ::fstat(old.get(), &found) != 0) return base::os_error(errno, whole);
  if (!S_ISREG(found.st_mode)) return Error(ErrorCode::invalid, "it is no regular file");
  if (found.st_nlink != 1) return Error(ErrorCode::invalid, "the file has several names (hard links)");
  const auto now = base::read_all(old.get(), before.size(), whole);
  if (!now || *now != before) return Error(ErrorCode::exists, "somebody has changed it meanwhile");
  const auto carried =
      base::what_carries_over(folder.get(), old.get(), found,
                              {.uid = found.st_uid, .gid = found.st_gid, .mode = found.st_mode & 07777});
  if (!carried) return Result<void>(carried.error());
  if (!carried->lost.empty())
    return Error(ErrorCode::invalid, "its " + carried->lost.front().name + " would be lost");

  const std::string scratch = "." + name.substr(0, 100) + "." + base::random_hex(8);
  const UniqueFd made(
      ::openat(folder.get(), scratch.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!made) return base::os_error(errno, "creating a file beside it");
  Result<void> done = fill(made.get(), after, found, *carried, old.get());
  struct stat there {};
  const bool is_same = ::fstatat(folder.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                       there.st_ino == found.st_ino && there.st_dev == found.st_dev &&
                       there.st_mtim.tv_sec == found.st_mtim.tv_sec &&
                       there.st_mtim.tv_nsec == found.st_mtim.tv_nsec;
  if (done && !is_same) done = Error(ErrorCode::exists, "somebody has changed it meanwhile");
  if (done && ::renameat(folder.get(), scratch.c_str(), folder.get(), name.c_str()) != 0)
    done = base::os_error(errno, "replacing it");
  if (!done) ::unlinkat(folder.get(), scratch.c_str(), 0);
  return done;
}

}  // namespace

Result<void> replace_file(const std::string& path, std::string_view before, std::string_view after) {
  const auto whole = absolute_path(path);
  if (!whole) return Result<void>(whole.error());
  if (auto done = put_in_place(*whole, before, after); !done)
    return std::move(done).error().with_context("left as it is");
  if (auto synced = base::sync_folder_of(*whole); !synced)
    return std::move(synced).error().with_context("it is written, and may be gone after a power cut");
  return {};
}

}  // namespace agent::cli
