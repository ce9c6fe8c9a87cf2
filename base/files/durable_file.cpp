#include "base/files/durable_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/unique_fd.hpp"

namespace base {

namespace {

Result<void> write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written >= 0)
      content.remove_prefix(static_cast<std::size_t>(written));
    else if (errno != EINTR)
      return os_error(errno, "writing " + path);
  }
  if (::fsync(fd) != 0) return os_error(errno, "syncing " + path);
  return {};
}

}  // namespace

Result<void> sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return os_error(errno, "syncing " + folder);
  return {};
}

Result<void> write_durable_file(const std::string& path, std::string_view content, mode_t mode) {
  // Only the owner writes in its folder: a leftover of a killed one is simply replaced.
  const std::string scratch = path + ".new";
  ::unlink(scratch.c_str());
  const UniqueFd fd(::open(scratch.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kPrivate));
  if (!fd) return os_error(errno, "creating " + scratch);
  // By descriptor: the umask has no say.
  Result<void> written;
  if (mode != kPrivate && ::fchmod(fd.get(), mode) != 0) written = os_error(errno, "creating " + scratch);
  if (written) written = write_all(fd.get(), content, scratch);
  if (written && ::rename(scratch.c_str(), path.c_str()) != 0) written = os_error(errno, "replacing " + path);
  if (!written) {
    ::unlink(scratch.c_str());
    return written;
  }
  return sync_folder_of(path);
}

Result<void> remove_lasting_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0) {
    if (errno == ENOENT) return {};
    return os_error(errno, "removing " + path);
  }
  return sync_folder_of(path);
}

}  // namespace base
