#include "base/below_root.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace base {

UniqueFd open_below(const std::string& root, std::string_view path, int flags) {
  const std::string name(path);
  if (root.empty()) return UniqueFd(::open(name.c_str(), flags | O_CLOEXEC));
  const UniqueFd top(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!top) return {};
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, top.get(), name.c_str(), &how, sizeof how)));
}

std::optional<struct stat> stat_below(const std::string& root, std::string_view path) {
  struct stat st {};
  if (root.empty()) {
    if (::stat(std::string(path).c_str(), &st) != 0) return std::nullopt;
    return st;
  }
  const UniqueFd fd = open_below(root, path, O_PATH);
  if (!fd || ::fstat(fd.get(), &st) != 0) return std::nullopt;
  return st;
}

}  // namespace base
