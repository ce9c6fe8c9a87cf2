#include "base/incoming_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "base/fnv.hpp"

namespace base {

namespace {

constexpr mode_t kScratchMode = 0600;

// Gives a name to a file that has none. 0, or -1 with errno.
int link_nameless(int fd, int folder, const std::string& name) {
  if (::linkat(fd, "", folder, name.c_str(), AT_EMPTY_PATH) == 0) return 0;
  if (errno != ENOENT) return -1;
  // Without CAP_DAC_READ_SEARCH only its entry in /proc will do.
  const std::string by_descriptor = "/proc/self/fd/" + std::to_string(fd);
  return ::linkat(AT_FDCWD, by_descriptor.c_str(), folder, name.c_str(), AT_SYMLINK_FOLLOW);
}

}  // namespace

std::string scratch_name(std::string_view name) {
  return ".opsagent-" + fnv1a_hex(name) + ".tmp";
}

bool clear_scratch(int folder, const std::string& name) {
  if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) return true;
  return errno == EISDIR && ::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0;
}

IncomingFile::~IncomingFile() {
  if (is_named_) ::unlinkat(folder_, scratch_.c_str(), 0);
}

Result<void> IncomingFile::open(std::optional<mode_t> mode) {
  fd_.reset(::openat(folder_, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode.value_or(kScratchMode)));
  if (fd_) return {};
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  auto created = create_scratch(folder_, scratch_,
                                [&] { return ::openat(folder_, scratch_.c_str(), kNew, kScratchMode); });
  if (!created) return std::move(created).error();
  fd_.reset(*created);
  is_named_ = true;
  return {};
}

bool IncomingFile::appear(const std::string& name) {
  const int done = is_named_ ? ::renameat2(folder_, scratch_.c_str(), folder_, name.c_str(), RENAME_NOREPLACE)
                             : link_nameless(fd_.get(), folder_, name);
  if (done != 0) return false;
  is_named_ = false;
  return true;
}

Result<void> IncomingFile::replace(const std::string& name) {
  if (::fsync(fd_.get()) != 0) return os_error(errno, "cannot write to disk");
  if (!is_named_) {
    auto named =
        create_scratch(folder_, scratch_, [&] { return link_nameless(fd_.get(), folder_, scratch_); });
    if (!named) return std::move(named).error();
    is_named_ = true;
  }
  if (::renameat(folder_, scratch_.c_str(), folder_, name.c_str()) != 0)
    return os_error(errno, "cannot rename");
  is_named_ = false;
  return {};
}

}  // namespace base
