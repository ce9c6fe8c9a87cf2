// DaemonState: what a daemon with a backend has besides its worker and its recipe: what lasts across
// connections, and most of it across restarts.
#pragma once

#include <memory>
#include <string>

#include "agent/engine/report_sink.hpp"
#include "agent/facts/facts.hpp"
#include "agent/identity/source_identity.hpp"
#include "agent/reports/encoding.hpp"
#include "agent/reports/spool.hpp"
#include "agent/runtime/address_rules.hpp"
#include "agent/runtime/backend_history.hpp"
#include "agent/runtime/command_store.hpp"
#include "agent/runtime/daemon_settings.hpp"
#include "agent/runtime/old_backends.hpp"
#include "agent/runtime/settings_store.hpp"
#include "base/background_thread.hpp"

namespace agent::runtime {

class DaemonState {
 public:
  // Reads or makes what is in the state folder, which is there. Gathers the facts.
  static base::Result<std::unique_ptr<DaemonState>> open(const runtime::DaemonSettings& settings);

  // Which backends may be dialled, as things are now: a join token may come while the daemon runs.
  AddressRules address_rules() const;

  // Where the worker's reports go. Not to be used longer than this.
  std::shared_ptr<engine::ReportSink> sink();

  std::shared_ptr<reports::Spool> spool;
  reports::Reports reports;
  SettingsStore settings;
  CommandStore commands;
  BackendHistory history;
  OldBackends old_backends;
  identity::IdentityOptions identity_options;  // the configuration's, with what the identity source says
  identity::SourceIdentity announced;
  identity::Identity identity;
  std::unique_ptr<identity::Membership> membership;
  const facts::AgentFacts own_facts;  // but for what the spool has lost since the start
  facts::Facts facts;
  const AddressRules configured_addresses;
  base::BackgroundThread background;  // last: it may be using the others

 private:
  void check_addresses(const runtime::DaemonSettings& from);

  DaemonState(const runtime::DaemonSettings& from, identity::Identity who,
              std::unique_ptr<identity::Membership> joined, std::shared_ptr<reports::Spool> opened,
              identity::SourceIdentity said);
};

}  // namespace agent::runtime
