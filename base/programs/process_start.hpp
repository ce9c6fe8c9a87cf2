// The parent's side of a program that was just started below its supervisor. Used by run().
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/programs/process.hpp"
#include "base/programs/process_supervisor.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace base {

// Owns the supervisor process. Letting go of it while the program runs ends the tree; afterwards it leaves
// the program's children alone. Either way the supervisor is gone, and no zombie, when the destructor
// returns.
class SupervisorHandle {
 public:
  SupervisorHandle() = default;
  SupervisorHandle(pid_t pid, UniqueFd control) : pid_(pid), control_(std::move(control)) {}
  SupervisorHandle(SupervisorHandle&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), control_(std::move(other.control_)) {}
  ~SupervisorHandle();

  pid_t pid() const { return pid_; }

  // Orders the end of the whole tree, even if the program itself has ended. The report says when it is done.
  void end_tree();

 private:
  pid_t pid_ = -1;
  UniqueFd control_;  // see SupervisorPlan::control
};

struct StartedProgram {
  std::string path;
  UniqueFd input;   // its stdin; not there if the command has no input
  UniqueFd output;  // its stdout …
  UniqueFd error;   // … and stderr; all three do not block
  UniqueFd tell;    // its descriptor 3, if it talks …
  UniqueFd hear;    // … and 4; they do not block
  UniqueFd report;  // delivers Reports
  SupervisorHandle supervisor;
};

// An Error when there is nothing to start or no supervisor can be had. What fails later (no such directory,
// not executable) comes as a Report and is put in words by start_error().
Result<StartedProgram> start(const Command& command);

Error start_error(const Command& command, const StartedProgram& started, const Report& report);

}  // namespace base
