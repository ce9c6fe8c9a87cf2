// RunLock: one run at a time on one state folder. A round of the daemon and an `apply` of a person wait for
// each other.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace agent::engine {

class RunLock {
 public:
  explicit RunLock(std::string path) : path_(std::move(path)) {}

  // Waits until it is ours. `on_wait` is called when that takes more than a moment, and again when it has
  // taken long. `holder`: its process, where that is known.
  using OnWait = std::function<void(std::optional<pid_t> holder, bool is_long)>;
  static constexpr std::chrono::minutes kLong{5};
  base::Result<void> acquire(base::Interrupt& interrupt, const OnWait& on_wait,
                             std::chrono::milliseconds long_wait = kLong);
  // Whether nobody else had it.
  bool try_acquire();
  void release() { fd_.reset(); }
  bool is_held() const { return static_cast<bool>(fd_); }

 private:
  void take(base::UniqueFd fd);

  const std::string path_;
  base::UniqueFd fd_;  // the kernel lets go of the lock when we die, however we die
};

}  // namespace agent::engine
