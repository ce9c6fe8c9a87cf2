#include "base/tree/access_list.hpp"

#include <sys/xattr.h>

#include <cerrno>
#include <optional>
#include <string_view>

namespace base {

namespace {

constexpr const char* kAccess = "system.posix_acl_access";
constexpr const char* kDefault = "system.posix_acl_default";

bool was_none(int why) {
  return why == ENODATA || why == EOPNOTSUPP;
}

constexpr std::size_t kHeader = 4;  // version
constexpr std::size_t kEntry = 8;   // tag and bits, two bytes each, and an id; all little endian
constexpr unsigned kOwner = 1;
constexpr unsigned kOwningGroup = 4;
constexpr unsigned kMask = 16;
constexpr unsigned kEverybody = 32;

unsigned number_at(std::string_view list, std::size_t at) {
  return static_cast<unsigned char>(list[at]) |
         static_cast<unsigned>(static_cast<unsigned char>(list[at + 1])) << 8U;
}

// The bits (0 to 7) of the owning group in the list of a path; nothing when there is no list.
std::optional<mode_t> group_in_list(const std::string& path) {
  const ssize_t size = ::getxattr(path.c_str(), kAccess, nullptr, 0);
  if (size <= 0) return std::nullopt;
  std::string list(static_cast<std::size_t>(size), '\0');
  const ssize_t got = ::getxattr(path.c_str(), kAccess, list.data(), list.size());
  for (std::size_t at = kHeader; got > 0 && at + kEntry <= static_cast<std::size_t>(got); at += kEntry)
    if (number_at(list, at) == kOwningGroup) return number_at(list, at + 2) & 7U;
  return std::nullopt;
}

}  // namespace

Result<void> drop_inherited_lists(int fd, bool is_folder) {
  if (::fremovexattr(fd, kAccess) != 0 && !was_none(errno))
    return os_error(errno, "cannot take the inherited access list away");
  if (is_folder && ::fremovexattr(fd, kDefault) != 0 && !was_none(errno))
    return os_error(errno, "cannot take the inherited default access list away");
  return {};
}

Result<void> drop_access_lists(int fd, const struct stat& found) {
  // Descriptors that are O_PATH have no attributes; their entries in /proc lead to the very same inode.
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  if (S_ISDIR(found.st_mode) && ::removexattr(path.c_str(), kDefault) != 0 && !was_none(errno))
    return os_error(errno, "cannot take its default access list away");
  const auto group = group_in_list(path);
  if (!group) return {};
  if (::removexattr(path.c_str(), kAccess) != 0 && !was_none(errno))
    return os_error(errno, "cannot take its access list away");
  struct stat now {};
  if (::stat(path.c_str(), &now) != 0) return os_error(errno, "stat");
  const mode_t mode = (now.st_mode & 07707) | *group << 3U;
  if (mode != (now.st_mode & 07777) && ::chmod(path.c_str(), mode) != 0)
    return os_error(errno, "cannot set the mode");
  return {};
}

Result<void> put_access_list(int fd, std::string list) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return os_error(errno, "fstat");
  const mode_t mode = st.st_mode & 07777;
  for (std::size_t at = kHeader; at + kEntry <= list.size(); at += kEntry) {
    const unsigned tag = number_at(list, at);
    if (tag == kOwner) list[at + 2] = static_cast<char>(mode >> 6 & 7);
    if (tag == kMask) list[at + 2] = static_cast<char>(mode >> 3 & 7);
    if (tag == kEverybody) list[at + 2] = static_cast<char>(mode & 7);
  }
  if (::fsetxattr(fd, kAccess, list.data(), list.size(), 0) != 0)
    return os_error(errno, "cannot carry the access list over from the file that is replaced");
  // Setting a list may take special bits away.
  if ((mode & 07000) != 0 && ::fchmod(fd, mode) != 0) return os_error(errno, "cannot set the mode");
  return {};
}

}  // namespace base
