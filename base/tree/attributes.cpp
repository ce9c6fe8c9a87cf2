#include "base/tree/attributes.hpp"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "base/files/others.hpp"
#include "base/tree/access_list.hpp"
#include "base/tree/write_lease.hpp"

namespace base {

namespace {

constexpr uid_t kSameUid = static_cast<uid_t>(-1);
constexpr gid_t kSameGid = static_cast<gid_t>(-1);
constexpr mode_t kSpecial = S_ISUID | S_ISGID;

bool has_other_owner(const struct stat& found, const Attributes& wanted) {
  return wanted.uid.value_or(found.st_uid) != found.st_uid;
}

bool has_other_group(const struct stat& found, const Attributes& wanted) {
  return wanted.gid.value_or(found.st_gid) != found.st_gid;
}

// Whether a file would come to run with rights that somebody who may have written it does not have.
bool lends_rights(const struct stat& found, const Attributes& wanted) {
  if (!S_ISREG(found.st_mode) || (wanted.mode.value_or(0) & kSpecial) == 0) return false;
  if (has_other_owner(found, wanted) || has_other_group(found, wanted)) return others_may_have_open(found);
  return adds_special_bits(found, wanted) && (found.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

Error lent_rights() {
  return {ErrorCode::permission,
          "it would run with rights that those who can write to it do not have: give its content, too, or "
          "take the write permission of others away first"};
}

Error is_written_to() {
  return {ErrorCode::permission,
          "somebody has it open for writing, and could go on changing it: end that program first, or give "
          "the file's content, too"};
}

Error cannot_tell(int why) {
  return os_error(why,
                  "it cannot be told whether somebody has it open for writing: give its content, too, or "
                  "remove it first");
}

// O_PATH descriptors have no mode to set and no attributes; their entry in /proc leads to the very same
// inode.
std::string by_descriptor(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

Result<void> set_mode(int fd, mode_t mode) {
  if (::chmod(by_descriptor(fd).c_str(), mode) != 0) return os_error(errno, "cannot set the mode");
  return {};
}

// Only what differs: any chown takes set-user-id bits and capabilities from a file, also one that changes
// nothing.
Result<void> change(int fd, const struct stat& found, const Attributes& wanted) {
  struct stat now {};
  if (::fstat(fd, &now) != 0) return os_error(errno, "fstat");
  const bool other_owner = has_other_owner(now, wanted) || has_other_group(now, wanted);
  if (other_owner && ::fchownat(fd, "", wanted.uid.value_or(kSameUid), wanted.gid.value_or(kSameGid),
                                AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0)
    return os_error(errno, "cannot set the owner");
  // After the owner, so that the old one cannot put them back.
  if (has_other_owner(found, wanted) && is_other(found.st_uid))
    if (auto dropped = drop_access_lists(fd, found); !dropped) return dropped;
  if (wanted.mode) {
    const bool is_set = (now.st_mode & 07777) == *wanted.mode && !other_owner;
    return is_set ? Result<void>() : set_mode(fd, *wanted.mode);
  }
  if (!other_owner || !S_ISREG(now.st_mode) || (now.st_mode & kSpecial) == 0) return {};
  if (::fstat(fd, &now) != 0) return os_error(errno, "fstat");
  const mode_t mode = (now.st_mode & 07777 & ~kSpecial) | (mode_after(found, wanted) & kSpecial);
  return mode == (now.st_mode & 07777) ? Result<void>() : set_mode(fd, mode);
}

constexpr const char* kCapabilities = "security.capability";

// "" when the file has none, or they cannot be read.
std::string capabilities_of(int fd) {
  std::array<char, 64> value{};  // the largest version has 24 bytes
  const ssize_t size = ::getxattr(by_descriptor(fd).c_str(), kCapabilities, value.data(), value.size());
  return {value.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

// The change, while nobody has the file open for writing.
Result<void> change_unwritten(int fd, const struct stat& found, const Attributes& wanted) {
  auto lease = WriteLease::open(fd);
  if (!lease) return std::move(lease).error();
  const int refused = lease->take();
  if (refused == EAGAIN) return is_written_to();
  if (refused != 0 && refused != EACCES) return cannot_tell(refused);
  Attributes first = wanted;
  if (first.mode) *first.mode &= ~kSpecial;
  // Without CAP_LEASE (containers) there is none on files of others: it must be ours for a moment.
  if (refused != 0) first.uid = ::geteuid();
  auto changed = change(fd, found, first);
  // Whoever opened it just before the change is seen here.
  const int why = !changed ? 0 : refused != 0 ? lease->take() : lease->is_undisturbed() ? 0 : EAGAIN;
  if (changed && why == 0) {
    const bool is_all = refused == 0 && first.mode == wanted.mode;
    return is_all ? Result<void>() : change(fd, found, wanted);
  }
  // Back to how it was, so that the next plan does not take it for what is wanted. Not the bits that the
  // kernel takes from a file when somebody writes to it: that may have happened just now.
  Attributes before{.uid = found.st_uid, .gid = found.st_gid, .mode = found.st_mode & 07777};
  if (others_may_have_open(found)) *before.mode &= ~kSpecial;
  if (auto undone = change(fd, found, before); !undone) return undone;
  if (!changed) return changed;
  return why == EAGAIN ? is_written_to() : cannot_tell(why);
}

}  // namespace

bool takes_write_access(const struct stat& found, const Attributes& wanted) {
  const mode_t mode = wanted.mode.value_or(found.st_mode);
  if (has_other_owner(found, wanted) && is_other(found.st_uid)) return true;
  if ((found.st_mode & S_IWGRP) != 0 && (has_other_group(found, wanted) || (mode & S_IWGRP) == 0))
    return true;
  return (found.st_mode & ~mode & S_IWOTH) != 0;
}

bool adds_special_bits(const struct stat& found, const Attributes& wanted) {
  return (wanted.mode.value_or(0) & kSpecial & ~found.st_mode) != 0;
}

mode_t mode_after(const struct stat& found, const Attributes& wanted) {
  if (wanted.mode) return *wanted.mode;
  const mode_t mode = found.st_mode & 07777;
  const bool other_owner = has_other_owner(found, wanted);
  if (!S_ISREG(found.st_mode) || (!other_owner && !has_other_group(found, wanted))) return mode;
  if (other_owner || others_may_have_open(found)) return mode & ~kSpecial;
  return mode & ~static_cast<mode_t>(S_ISGID);
}

bool keeps_capabilities(const struct stat& found, const Attributes& wanted) {
  if (has_other_owner(found, wanted)) return false;
  return !has_other_group(found, wanted) || !others_may_have_open(found);
}

Result<dev_t> set_attributes_of_new(int fd, const Attributes& wanted) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return os_error(errno, "fstat");
  // Before the mode: where there is a list, the bits for the group are the most that it grants to anybody.
  if (auto dropped = drop_inherited_lists(fd, S_ISDIR(st.st_mode)); !dropped)
    return std::move(dropped).error();
  const bool other_owner = has_other_owner(st, wanted) || has_other_group(st, wanted);
  if (other_owner && ::fchown(fd, wanted.uid.value_or(kSameUid), wanted.gid.value_or(kSameGid)) != 0)
    return os_error(errno, "cannot set the owner");
  // After the owner: chown clears set-user-id bits.
  if (wanted.mode && ((st.st_mode & 07777) != *wanted.mode || other_owner) && ::fchmod(fd, *wanted.mode) != 0)
    return os_error(errno, "cannot set the mode");
  return st.st_dev;
}

Result<void> set_attributes_of_found(int fd, const struct stat& found, const Attributes& wanted) {
  if (lends_rights(found, wanted)) return lent_rights();
  const bool must_be_unwritten =
      S_ISREG(found.st_mode) && (takes_write_access(found, wanted) || adds_special_bits(found, wanted));
  const bool may_lose_them = S_ISREG(found.st_mode) && has_other_group(found, wanted);
  const std::string capabilities =
      may_lose_them && keeps_capabilities(found, wanted) ? capabilities_of(fd) : std::string();
  auto changed = must_be_unwritten ? change_unwritten(fd, found, wanted) : change(fd, found, wanted);
  if (changed && !capabilities.empty() &&
      ::setxattr(by_descriptor(fd).c_str(), kCapabilities, capabilities.data(), capabilities.size(), 0) != 0)
    return os_error(errno, "cannot give it its capabilities back");
  return changed;
}

}  // namespace base
