// Daemon: `opsagent run`. One loop, the worker beside it, and all that outlives connections.
//
//   signals, control socket ─┐                                  ┌─ worker (a thread of its own)
//   backend ── Manager ──────┴─ loop ── WorkerPort, its events ─┘
//
// run() uses the calling thread for the loop. With a backend it connects, and connects again; without one it
// keeps the recipe that it was given. Between events it sleeps: there is no timer that only looks.
#pragma once

#include "agent/runtime/daemon_settings.hpp"

namespace agent::daemon {

enum class DaemonEnd {
  stopped,
  restart,   // the caller executes the program anew
  switched,  // another version is to be started, by the launcher
  failed,    // it could not start, or the worker ended by itself; it was logged
};

// Blocks SIGINT, SIGTERM and SIGHUP for the process: call it before any other thread is started.
DaemonEnd run_daemon(runtime::DaemonSettings settings);

}  // namespace agent::daemon
