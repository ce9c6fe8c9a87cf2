// RunLock: one run at a time on one state folder. A round of the daemon and an `apply` of a person wait for
// each other.
#pragma once

#include <functional>
#include <string>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace agent::engine {

class RunLock {
 public:
  explicit RunLock(std::string path) : path_(std::move(path)) {}

  // Waits until it is ours. `on_wait` is called once, with the pid that holds it, when that takes more than a
  // moment.
  base::Result<void> acquire(base::Interrupt& interrupt,
                             const std::function<void(const std::string& pid)>& on_wait);
  void release() { fd_.reset(); }
  bool is_held() const { return static_cast<bool>(fd_); }

 private:
  const std::string path_;
  base::UniqueFd fd_;  // the kernel lets go of the lock when we die, however we die
};

}  // namespace agent::engine
