#include "base/programs/read_only_view.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/programs/private_tmp.hpp"

namespace base {

namespace {

constexpr int kMostCapabilities = 64;

}  // namespace

bool enter_read_only_view(bool offline) {
  const int wanted = CLONE_NEWNS | (offline ? CLONE_NEWNET : 0);
  if (::unshare(wanted) != 0 && !enter_user_namespace(wanted)) return false;
  mount_attr change{};
  change.propagation = MS_PRIVATE;
  change.attr_set = MOUNT_ATTR_RDONLY;
  return ::mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &change, sizeof change) == 0;
}

bool drop_privileges() {
  for (int capability = 0; capability < kMostCapabilities; ++capability)
    if (capability != CAP_DAC_READ_SEARCH) ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (::syscall(SYS_capget, &header, sets) != 0) return false;
  constexpr std::uint32_t kKept = 1U << CAP_DAC_READ_SEARCH;
  sets[0] = {sets[0].effective & kKept, sets[0].permitted & kKept, 0};
  sets[1] = {};
  if (::syscall(SYS_capset, &header, sets) != 0 || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return false;
  // Of root, what the bounding set still has would come back with the next program.
  if (::geteuid() != 0) return true;
  for (int capability = 0; capability < kMostCapabilities; ++capability)
    if (capability != CAP_DAC_READ_SEARCH && ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1) {
      errno = EPERM;
      return false;
    }
  return true;
}

}  // namespace base
