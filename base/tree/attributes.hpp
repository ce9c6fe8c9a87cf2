// Owner and mode of files and folders, and who loses access when they change. For TreeWriter and states.
//
// Whoever could write to a file may have it open, or mapped, and goes on writing whoever owns it afterwards.
// So a regular file is taken from others, or gets set-user-id and set-group-id bits, only while nobody has it
// open for writing.
#pragma once

#include <sys/stat.h>

#include <optional>

#include "base/result.hpp"

namespace base {

struct Attributes {
  std::optional<uid_t> uid;  // absent: left alone (ours for what is new)
  std::optional<gid_t> gid;
  std::optional<mode_t> mode;
};

// Whether others (others.hpp) lose something: one of them owned it and another will, or its group or
// everybody could write to it and no longer can.
bool takes_write_access(const struct stat& found, const Attributes& wanted);

// Whether it gets set-user-id or set-group-id bits that it does not have.
bool adds_special_bits(const struct stat& found, const Attributes& wanted);

// The mode that a file or folder will have. A regular file that gets another owner loses its set-user-id and
// set-group-id bits unless the wanted mode names them: it would run as somebody else. One that gets another
// group keeps the set-user-id bit, if nobody else can have written to it.
mode_t mode_after(const struct stat& found, const Attributes& wanted);

// Whether a regular file keeps its capabilities (security.capability), by the same rule.
bool keeps_capabilities(const struct stat& found, const Attributes& wanted);

// Sets those of a file or folder that we have just made where nobody else can touch it. The access lists
// (ACL) that it has from its folder's default list are taken away: the mode says all. Answers its device.
Result<dev_t> set_attributes_of_new(int fd, const Attributes& wanted);

// Sets those of a file or folder that is there, no symlink: an O_PATH descriptor and its fstat. Only what
// differs is set. What passes from one of the others to another owner loses the access lists that he may have
// given it.
//
// ErrorCode::permission, and all is as before (but for set-user-id bits and capabilities of a file that
// others can write to, which the kernel takes away), when somebody has a regular file open for writing that
// is taken from others or gets set-user-id bits; when it cannot be told (file systems without leases); and
// when it would run with rights that those who can write to it do not have.
Result<void> set_attributes_of_found(int fd, const struct stat& found, const Attributes& wanted);

}  // namespace base
