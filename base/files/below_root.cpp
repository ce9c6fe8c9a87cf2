#include "base/files/below_root.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>

#include "base/files/way.hpp"

namespace base {

UniqueFd open_below(const std::string& root, std::string_view path, int flags) {
  const std::string name(path);
  if (root.empty()) return UniqueFd(::open(name.c_str(), flags | O_CLOEXEC));
  const auto top = walk_way(root);
  if (!top) {
    errno = top.error().code() == ErrorCode::not_found ? ENOENT : EACCES;
    return {};
  }
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, top->end.get(), name.c_str(), &how, sizeof how)));
}

std::vector<std::string> names_below(const std::string& root, std::string_view folder) {
  UniqueFd fd = open_below(root, folder, O_RDONLY | O_DIRECTORY);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(fd ? ::fdopendir(fd.get()) : nullptr, ::closedir);
  if (!entries) return {};
  [[maybe_unused]] const int given = fd.release();
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get()))
    if (const std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
  std::ranges::sort(names);
  return names;
}

}  // namespace base
