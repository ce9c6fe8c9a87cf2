#include "base/tree/inode_flags.hpp"

#include <fcntl.h>
#include <sys/stat.h>

namespace base {

namespace {

// "i", "a", or "".
std::string flag_of(int folder, const char* name, int flags) {
  struct statx found {};
  if (::statx(folder, name, flags | AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_TYPE, &found) != 0)
    return {};
  if ((found.stx_attributes & STATX_ATTR_IMMUTABLE) != 0) return "i";
  return (found.stx_attributes & STATX_ATTR_APPEND) != 0 ? "a" : "";
}

std::string advice(const std::string& flag, std::string_view path) {
  return std::string(path) + (flag == "i" ? " is immutable" : " can only be added to") + " (chattr +" + flag +
         "); whoever did that wants it so. To let it be changed: chattr -" + flag + " " + std::string(path);
}

}  // namespace

std::string why_locked(int folder, const std::string& name, std::string_view path, Changing what) {
  if (const std::string flag = flag_of(folder, name.c_str(), 0); !flag.empty()) return advice(flag, path);
  if (what == Changing::attributes) return {};
  const std::string flag = flag_of(folder, "", AT_EMPTY_PATH);
  if (flag.empty()) return {};
  const std::size_t slash = path.rfind('/');
  return advice(flag, slash == 0 || slash == path.npos ? "/" : path.substr(0, slash));
}

}  // namespace base
