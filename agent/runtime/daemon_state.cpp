#include "agent/runtime/daemon_state.hpp"

#include "agent/reports/spool_sink.hpp"
#include "agent/runtime/progress.hpp"

namespace agent::runtime {

DaemonState::DaemonState(const runtime::DaemonSettings& from, identity::Identity who,
                         std::unique_ptr<identity::Membership> joined, std::shared_ptr<reports::Spool> opened,
                         identity::SourceIdentity said)
    : spool(std::move(opened)),
      reports(&Progress::status_at_start),
      settings(from.state_dir + "/settings"),
      identity_options(identity::with_source_identity(from.backend->identity, said)),
      announced(std::move(said)),
      identity(std::move(who)),
      membership(std::move(joined)),
      own_facts{.version = from.version, .tags = from.backend->tags},
      facts(facts::gather(own_facts)) {}

base::Result<std::unique_ptr<DaemonState>> DaemonState::open(const runtime::DaemonSettings& from) {
  auto first = identity::first_source_identity({.state_dir = from.state_dir,
                                                .source = from.backend->source,
                                                .configured = from.backend->identity,
                                                .log = from.log});
  if (!first) return std::move(first).error();
  identity::SourceIdentity said = std::move(*first);
  auto identity = identity::load_identity(identity::with_source_identity(from.backend->identity, said));
  if (!identity) return std::move(identity).error();
  from.redactor->add(identity->token);
  auto membership = identity::Membership::open(identity::with_source_identity(from.backend->membership, said),
                                               *from.redactor);
  if (!membership) return std::move(membership).error();
  if (const std::string& why = (*membership)->refused_token(); !why.empty()) from.log(Level::warning, why);
  auto spool = reports::Spool::open(from.state_dir + "/spool");
  if (!spool) return std::move(spool).error().with_context("the report spool");
  for (const std::string& problem : (*spool)->problems())
    from.log(Level::warning, problem);
  std::unique_ptr<DaemonState> parts(new DaemonState(from, std::move(*identity), std::move(*membership),
                                                     std::move(*spool), std::move(said)));
  auto reverted = parts->settings.load();
  if (!reverted)
    from.log(Level::warning, reverted.error().message());
  else if (*reverted)
    from.log(Level::warning,
             "settings of the backend were not confirmed before the agent ended: they are dropped");
  return parts;
}

std::shared_ptr<engine::ReportSink> DaemonState::sink() {
  return std::make_shared<reports::SpoolSink>(
      spool, [this](const engine::Event& event) { return reports.encode(event); });
}

}  // namespace agent::runtime
