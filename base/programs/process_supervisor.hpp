// The supervisor: the process between us and a program that we run. See base/programs/process.hpp for why it
// is there.
//
// It runs in a fork of a program with threads, so it makes only async-signal-safe calls and allocates
// nothing: whatever needs memory is in the plan, made before the fork.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "base/programs/process.hpp"

namespace base {

// Points into memory of the parent's that the fork has copied. All descriptors are close-on-exec and above 4.
struct SupervisorPlan {
  const char* program = nullptr;
  char* const* argv = nullptr;
  char* const* envp = nullptr;
  const char* cwd = nullptr;
  int cwd_folder = -1;  // the folder that `cwd` must be; -1: whatever it is

  bool change_identity = false;
  uid_t uid = 0;
  gid_t gid = 0;
  const gid_t* groups = nullptr;
  std::size_t group_count = 0;

  bool private_tmp = false;
  View view = View::all;
  const ProcessLimits* limits = nullptr;  // null: those that we have

  int null = -1;     // /dev/null
  int input = -1;    // read end of the program's stdin; -1: /dev/null
  int output = -1;   // write ends of its stdout …
  int error = -1;    // … and stderr
  int script = -1;   // becomes the program's descriptor 3; -1: it has none
  int answers = -1;  // becomes the program's descriptor 4; -1: it has none
  // The read ends, for what is printed by those whom the program leaves behind.
  int output_end = -1;
  int error_end = -1;

  // Read end. A byte: end the tree. End of file (we are done, or dead): end the tree if the program still
  // runs, otherwise go away and leave its children be; whoever prints something finds a reader.
  int control = -1;
  int report = -1;  // write end, takes Reports

  std::int64_t term_grace_ms = 0;
};

// What the supervisor, or the program before its exec, says. Small enough to be written in one piece.
struct Report {
  enum class What : std::int32_t {
    supervisor_failed,  // it could not set itself up; error_number
    fork_failed,
    stdio_failed,
    view_failed,
    limits_failed,
    identity_failed,
    cwd_failed,
    exec_failed,
    program_ended,  // wait_status, others_run, cpu_us, max_rss_kb
    tree_ended,     // after an order to end the tree: done, or given up on what KILL does not end
  };
  What what{};
  std::int32_t error_number = 0;
  std::int32_t wait_status = 0;
  std::int32_t others_run = 0;  // 1: what it started was still there when it ended
  std::int64_t cpu_us = 0;
  std::int64_t max_rss_kb = 0;
};

// Called in the forked child, with all signals blocked.
[[noreturn]] void supervise(const SupervisorPlan& plan);

}  // namespace base
