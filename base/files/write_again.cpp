#include "base/files/write_again.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace base {

Result<void> write_again(int fd) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return os_error(errno, "cannot look at a file");
  if (!S_ISREG(st.st_mode)) return {};
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
