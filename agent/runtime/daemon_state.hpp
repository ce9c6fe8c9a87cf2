// LiveParts: all of value that a daemon with a backend has besides its worker: what lasts across connections,
// and most of it across restarts.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "agent/daemon/daemon.hpp"
#include "agent/engine/report_sink.hpp"
#include "agent/facts/facts.hpp"
#include "agent/identity/source_identity.hpp"
#include "agent/reports/encoding.hpp"
#include "agent/reports/spool.hpp"
#include "agent/runtime/active_recipe.hpp"
#include "agent/runtime/settings_store.hpp"
#include "base/background_thread.hpp"

namespace agent::manager {

class LiveParts {
 public:
  // Reads or makes what is in the state folder, which is there. Gathers the facts.
  static base::Result<std::unique_ptr<LiveParts>> open(const DaemonSettings& settings);

  // The recipe that was accepted last, to go on with before anybody is connected.
  struct FirstRecipe {
    std::optional<RunRecipe> command;
    bool is_lost = false;  // there is one, and it cannot be used
  };
  FirstRecipe first_recipe(const LogLine& log);
  // Where the worker's reports go.
  ReportSink sink();

  std::shared_ptr<Spool> spool;
  Reports reports;
  RecipeStore recipes;
  SettingsStore settings;
  RecipeDesk desk;
  IdentityOptions identity_options;  // the configuration's, with what the identity source says
  Announced announced;
  Identity identity;
  std::unique_ptr<Membership> membership;
  facts::AgentFacts own_facts;
  facts::Facts facts;
  SideWork side_work;  // last: it may be using the others

 private:
  LiveParts(const DaemonSettings& from, Identity who, std::unique_ptr<Membership> joined,
            std::shared_ptr<Spool> opened, Announced said);
};

}  // namespace agent::manager
