#include "base/files/file_read.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/unique_fd.hpp"

namespace base {

Result<std::string> read_all(int fd, std::size_t limit, const std::string& name) {
  constexpr std::size_t kStep = 64 * 1024;
  struct stat st {};
  std::string text;
  // One byte more than the size says, so that a file of the expected size is read with one call and one for
  // its end.
  std::size_t step =
      ::fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? static_cast<std::size_t>(st.st_size) + 1 : kStep;
  step = std::clamp<std::size_t>(step, 1, limit + 1);
  while (true) {
    const std::size_t have = text.size();
    text.resize(have + step);
    const ssize_t got = ::read(fd, text.data() + have, step);
    if (got < 0 && errno == EINTR) {
      text.resize(have);
      continue;
    }
    if (got < 0) return os_error(errno, "cannot read " + name);
    text.resize(have + static_cast<std::size_t>(got));
    if (text.size() > limit)
      return Error(ErrorCode::limit,
                   name + " is larger than the limit of " + std::to_string(limit) + " bytes");
    if (got == 0) return text;
    step = kStep;
  }
}

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return os_error(errno, "cannot open " + path);
  return read_all(fd.get(), limit, path);
}

}  // namespace base
