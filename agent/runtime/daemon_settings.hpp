// What a daemon is told by its configuration and by the program around it. Constant after construction.
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
#include "agent/inputs/machine_secrets.hpp"
#include "agent/log_line.hpp"
#include "agent/metadata/metadata.hpp"
#include "agent/modules/sources/state_sources.hpp"
#include "agent/updater/settings.hpp"
#include "base/values/redactor.hpp"
#include "states/context.hpp"
#include "transport/client/proxies.hpp"

namespace agent::runtime {

struct BackendSettings {
  std::vector<std::string> ws_uris;
  identity::IdentityOptions identity;
  identity::MembershipOptions membership;
  metadata::SourceOptions source;  // who says what the configuration leaves open
  std::map<std::string, std::string> tags;
  transport::Proxies proxies;
  int protocol_min = 1;
  bool allow_plain = false;
  std::vector<std::string> allowed_hosts;  // to which a backend may send us: AllowedHosts
  std::vector<std::string> allow;
  updater::Settings update;
};

struct DaemonSettings {
  states::Host host;
  std::string state_dir;
  std::chrono::seconds round_delay{600};
  std::string version;
  std::shared_ptr<base::Redactor> redactor;
  std::optional<BackendSettings> backend;
  std::optional<engine::RunRecipe> recipe;  // without a backend
  inputs::SecretSettings secrets;           // where those of recipes come from
  // The states that every recipe may name, and how those of module repositories are fetched.
  modules::ModuleSettings modules;
  std::shared_ptr<const modules::StateSources> sources;

  LogLine log;
  std::function<void(const engine::Event&)> show;  // every event of the worker, for the log

  // Without a backend, on a thread besides the loop and the worker: on SIGHUP, and when a round has started.
  using NextRecipe = std::function<std::optional<engine::RunRecipe>(base::Interrupt&)>;
  NextRecipe reread;
  NextRecipe moved_modules;
};

}  // namespace agent::runtime
