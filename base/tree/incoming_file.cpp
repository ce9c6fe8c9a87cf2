#include "base/tree/incoming_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace base {

namespace {

constexpr mode_t kScratchMode = 0600;

// Gives a name to a file that has none. 0, or -1 with errno.
int link_nameless(int fd, int folder, const char* name) {
  if (::linkat(fd, "", folder, name, AT_EMPTY_PATH) == 0) return 0;
  if (errno != ENOENT) return -1;
  // Without CAP_DAC_READ_SEARCH only its entry in /proc will do.
  const std::string by_descriptor = "/proc/self/fd/" + std::to_string(fd);
  return ::linkat(AT_FDCWD, by_descriptor.c_str(), folder, name, AT_SYMLINK_FOLLOW);
}

}  // namespace

Result<void> IncomingFile::open(std::optional<mode_t> mode) {
  fd_.reset(::openat(folder_, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode.value_or(kScratchMode)));
  if (fd_) return {};
  auto place = ScratchPlace::make(folder_, scratch_);
  if (!place) return std::move(place).error();
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  fd_.reset(::openat(place->folder(), place->name(), kNew, kScratchMode));
  if (!fd_) return os_error(errno, "cannot create the temporary " + scratch_);
  place->filled();
  place_.emplace(std::move(*place));
  return {};
}

bool IncomingFile::appear(const std::string& name) {
  const int done =
      place_ ? ::renameat2(place_->folder(), place_->name(), folder_, name.c_str(), RENAME_NOREPLACE)
             : link_nameless(fd_.get(), folder_, name.c_str());
  if (done != 0) return false;
  if (place_) place_->emptied();
  return true;
}

Result<void> IncomingFile::replace(const std::string& name) {
  if (::fsync(fd_.get()) != 0) return os_error(errno, "cannot write to disk");
  if (!place_) {
    auto place = ScratchPlace::make(folder_, scratch_);
    if (!place) return std::move(place).error();
    if (link_nameless(fd_.get(), place->folder(), place->name()) != 0)
      return os_error(errno, "cannot create the temporary " + scratch_);
    place->filled();
    place_.emplace(std::move(*place));
  }
  if (::renameat(place_->folder(), place_->name(), folder_, name.c_str()) != 0)
    return os_error(errno, "cannot rename");
  place_->emptied();
  return {};
}

}  // namespace base
