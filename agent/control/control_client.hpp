// ControlClient: the other end of ControlServer, for commands. Blocks, with deadlines.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace agent::control {

class ControlClient {
 public:
  // ErrorCode::not_found when no daemon runs on this state folder.
  static base::Result<ControlClient> connect(const std::string& state_dir);

  // One request, a JSON object; its answer, a JSON object. Once.
  base::Result<std::string> ask(std::string_view request, std::chrono::milliseconds patience);

  // Waits for the daemon to go. False when the time is over.
  bool wait_for_end(std::chrono::milliseconds patience);

 private:
  explicit ControlClient(base::UniqueFd fd) : fd_(std::move(fd)) {}
  base::UniqueFd fd_;
};

}  // namespace agent::control
