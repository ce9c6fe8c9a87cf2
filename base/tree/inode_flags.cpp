#include "base/tree/inode_flags.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <optional>

#include "base/files/mount_id.hpp"
#include "base/unique_fd.hpp"

namespace base {

namespace {

// What is there, or is mounted there.
std::optional<struct statx> look_at(int folder, const char* name, int flags) {
  struct statx found {};
  if (::statx(folder, name, flags | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE,
              &found) != 0)
    return std::nullopt;
  return found;
}

// "i", "a", or "".
std::string flag_of(const struct statx& found) {
  if ((found.stx_attributes & STATX_ATTR_IMMUTABLE) != 0) return "i";
  return (found.stx_attributes & STATX_ATTR_APPEND) != 0 ? "a" : "";
}

// Kernels before 5.8 do not say it themselves.
bool is_mount_point(int folder, const std::string& name, const struct statx& found) {
  if ((found.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
    return (found.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  const UniqueFd there(::openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  const auto outside = mount_id(folder);
  const auto inside = there ? mount_id(there.get()) : outside;
  return outside && inside && outside != inside;
}

std::string advice(const std::string& flag, std::string_view path) {
  return std::string(path) + (flag == "i" ? " is immutable" : " can only be added to") + " (chattr +" + flag +
         "); whoever did that wants it so. To let it be changed: chattr -" + flag + " " + std::string(path);
}

// Writing into the mounted file instead would show others half of it, and lose it when the disk is full.
std::string mount_advice(std::string_view path) {
  const std::string name(path);
  return name +
         " is a mount point, so nothing can take its place and it cannot be removed (container "
         "runtimes mount /etc/hosts, /etc/hostname and /etc/resolv.conf). Change it where it is mounted "
         "from, "
         "or unmount it first: umount " +
         name;
}

}  // namespace

std::string why_locked(int folder, const std::string& name, std::string_view path, Changing what) {
  const auto found = look_at(folder, name.c_str(), 0);
  if (found)
    if (const std::string flag = flag_of(*found); !flag.empty()) return advice(flag, path);
  if (what == Changing::attributes) return {};
  if (found && is_mount_point(folder, name, *found)) return mount_advice(path);
  const auto above = look_at(folder, "", AT_EMPTY_PATH);
  const std::string flag = above ? flag_of(*above) : std::string();
  if (flag.empty()) return {};
  const std::size_t slash = path.rfind('/');
  return advice(flag, slash == 0 || slash == path.npos ? "/" : path.substr(0, slash));
}

}  // namespace base
