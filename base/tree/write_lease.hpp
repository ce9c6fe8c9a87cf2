// WriteLease: whether anybody has a file open for writing, asked of the kernel (a read lease, fcntl(2)). A
// shared mapping that can be written to counts as open after its descriptor is closed. One thread.
#pragma once

#include <utility>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace base {

class WriteLease {
 public:
  // Of the regular file that a descriptor (O_PATH) stands for.
  static Result<WriteLease> open(int fd);

  // 0 when nobody has it open for writing. Whoever opens it from now on waits, until the lease ends with this
  // object. Else EAGAIN, when somebody has; EACCES when the file is not ours and we have no CAP_LEASE;
  // others where the file system knows no leases.
  int take();
  // Whether nobody has tried since it was taken.
  bool is_undisturbed();

 private:
  explicit WriteLease(UniqueFd file) : file_(std::move(file)) {}
  UniqueFd file_;
};

}  // namespace base
