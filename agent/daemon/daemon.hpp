// Daemon: `opsagent run`. One loop, the worker beside it, and all that outlives connections.
//
//   signals, control socket ─┐                                  ┌─ worker (a thread of its own)
//   backend ── Manager ──────┴─ loop ── WorkerPort, its events ─┘
//
// run() uses the calling thread for the loop. With a backend it connects, and connects again; without one it
// keeps the recipe that it was given. Between events it sleeps: there is no timer that only looks.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/engine/messages.hpp"
#include "agent/identity/identity.hpp"
#include "agent/identity/membership.hpp"
#include "agent/log_line.hpp"
#include "agent/metadata/metadata.hpp"
#include "agent/updater/settings.hpp"
#include "base/redactor.hpp"
#include "states/context.hpp"
#include "states/registry.hpp"
#include "transport/proxies.hpp"

namespace agent::manager {

struct BackendSettings {
  std::vector<std::string> ws_uris;
  IdentityOptions identity;
  MembershipOptions membership;
  metadata::SourceOptions source;  // who says what the configuration leaves open
  std::map<std::string, std::string> tags;
  transport::Proxies proxies;
  int protocol_min = 1;
  bool allow_plain = false;
  std::vector<std::string> allow;
  updating::Settings update;
};

struct DaemonSettings {
  states::Host host;
  std::string state_dir;
  std::chrono::seconds round_delay{600};
  std::string version;
  std::shared_ptr<base::Redactor> redactor;
  std::optional<BackendSettings> backend;
  std::optional<RunRecipe> recipe;  // without a backend
  // The modules that recipes of the backend may name.
  std::function<states::Registry()> registry;

  LogLine log;
  std::function<void(const Event&)> show;            // every event of the worker, for the log
  std::function<std::optional<RunRecipe>()> reread;  // on SIGHUP, without a backend
};

enum class DaemonEnd {
  stopped,
  restart,   // the caller executes the program anew
  switched,  // another version is to be started, by the launcher
  failed,    // it could not start, or the worker ended by itself; it was logged
};

// Blocks SIGINT, SIGTERM and SIGHUP for the process: call it before any other thread is started.
DaemonEnd run_daemon(DaemonSettings settings);

// Why this address may not be used: not a websocket's, or plain to another machine. Nothing: it may.
std::optional<std::string> refuse_uri(const std::string& uri, bool allow_plain);

}  // namespace agent::manager
