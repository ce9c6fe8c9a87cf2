#include "base/files/write_again.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "base/unique_fd.hpp"

namespace base {

Result<void> write_again(int file) {
  struct stat st {};
  if (::fstat(file, &st) != 0) return os_error(errno, "cannot look at a file");
  if (!S_ISREG(st.st_mode)) return {};
  // What is open for appending is appended to by pwrite(), too, wherever that is told to write.
  UniqueFd opened;
  const int flags = ::fcntl(file, F_GETFL);
  if (flags < 0) return os_error(errno, "cannot look at a file");
  if ((flags & O_APPEND) != 0) {
    opened.reset(::open(("/proc/self/fd/" + std::to_string(file)).c_str(), O_RDWR | O_CLOEXEC));
    if (!opened) return os_error(errno, "cannot open what is to be written again");
  }
  const int fd = opened ? opened.get() : file;
  std::array<char, 16 * 1024> block;
  for (off_t at = 0; at < st.st_size;) {
    const ssize_t got = ::pread(fd, block.data(), block.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error(errno, "cannot read what is to be written again");
    if (got == 0) break;  // somebody has shortened it
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = ::pwrite(fd, block.data() + done, static_cast<std::size_t>(got - done), at + done);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return os_error(errno, "cannot write again");
      done += put;
    }
    at += got;
  }
  return {};
}

}  // namespace base
