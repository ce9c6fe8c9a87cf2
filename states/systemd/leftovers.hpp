// Leftovers: what a program leaves running when it has ended is no part of the agent any more.
//
// systemd ends a service with all that is in its group. So where it runs the agent as a service, a daemon
// that a command has started would die with the agent's next stop, restart or update. It is moved to a scope
// of its own: `systemctl list-units 'opsagent-left-*'` shows it, `systemctl stop` ends it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/programs/process.hpp"
#include "states/context.hpp"

namespace states::systemd {

// For one program, on the worker's thread.
class Leftovers {
 public:
  // Looks after what `command` leaves behind. Both must live until it has been run.
  Leftovers(base::Command& command, Context& context);
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;

  // For people: "2 processes were left running", and what will become of them if that is not their own
  // affair. Empty when nothing was left.
  std::string remark() const;

 private:
  void take(const std::vector<pid_t>& processes);

  Context& context_;
  std::size_t count_ = 0;
  std::string problem_;
};

}  // namespace states::systemd
