#include "base/programs/core_dumps.hpp"

#include <sys/prctl.h>
#include <unistd.h>

namespace base {

// Not RLIMIT_CORE: what states start would inherit it, and cores that go to a program ignore it.
void forbid_core_dumps() {
  if (::geteuid() == 0) (void)::prctl(PR_SET_DUMPABLE, 0);
}

}  // namespace base
