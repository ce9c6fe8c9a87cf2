// PidFile: one daemon per state folder, and which process it is.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace agent::control {

class PidFile {
 public:
  // Ours from now on, until we die, however we die. ErrorCode::exists when a daemon runs already.
  static base::Result<PidFile> acquire(const std::string& path);

  // The daemon that holds it; nothing when none runs, whatever number is in the file.
  static std::optional<pid_t> holder(const std::string& path);

 private:
  explicit PidFile(base::UniqueFd fd) : fd_(std::move(fd)) {}
  base::UniqueFd fd_;  // locked
};

}  // namespace agent::control
