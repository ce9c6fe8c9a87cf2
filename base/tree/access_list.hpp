// POSIX access lists (ACL), which may grant more than a mode says: taking them away, and carrying one over.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.hpp"

namespace base {

// From a file or folder that we have just made (an open descriptor): what it has from the default list of the
// folder that it was made in. Its mode is to be set afterwards.
Result<void> drop_inherited_lists(int fd, bool is_folder);

// From one that is there (O_PATH will do, and its fstat): a folder's default list, too. Its group keeps the
// rights that it had with the list.
Result<void> drop_access_lists(int fd, const struct stat& found);

// Gives a file that we have just made, and that has its mode, a list as getxattr(2) gives it. It is cut to
// the mode, as chmod(2) does: what the mode denies to owner, group or others, the list does not grant.
Result<void> put_access_list(int fd, std::string list);

}  // namespace base
