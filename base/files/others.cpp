#include "base/files/others.hpp"

#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>

namespace base {

namespace {

// Where there is one, the mode's bits for the group are the most that it grants to anybody.
bool has_access_list(int folder) {
  // Descriptors that are O_PATH have no attributes; their entries in /proc lead to the very same inode.
  const std::string by_descriptor = "/proc/self/fd/" + std::to_string(folder);
  if (::getxattr(by_descriptor.c_str(), "system.posix_acl_access", nullptr, 0) >= 0) return true;
  return errno != ENODATA && errno != EOPNOTSUPP;
}

}  // namespace

bool is_other(uid_t uid) {
  return uid != 0 && uid != ::geteuid();
}

std::string how_others_write_to(int folder, const struct stat& found, std::optional<uid_t> also) {
  if (is_other(found.st_uid) && found.st_uid != also) return "belongs to uid " + std::to_string(found.st_uid);
  if ((found.st_mode & S_IWOTH) != 0) return "can be written to by everybody";
  if ((found.st_mode & S_IWGRP) == 0) return {};
  const bool is_our_group = found.st_gid == 0 || (::geteuid() != 0 && found.st_gid == ::getegid());
  if (!is_our_group) return "can be written to by the group " + std::to_string(found.st_gid);
  return has_access_list(folder) ? "can be written to by those in its access list" : "";
}

bool others_can_write_to(int folder) {
  struct stat found {};
  return ::fstat(folder, &found) != 0 || !how_others_write_to(folder, found).empty();
}

bool others_may_have_open(const struct stat& file) {
  return is_other(file.st_uid) || (file.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

}  // namespace base
