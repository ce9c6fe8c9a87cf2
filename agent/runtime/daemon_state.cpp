#include "agent/runtime/daemon_state.hpp"

#include "agent/reports/spool_sink.hpp"
#include "agent/runtime/progress.hpp"
#include "transport/uri.hpp"

namespace agent::runtime {

namespace {

AddressRules rules_of(const BackendSettings& backend) {
  AddressRules rules{.allow_plain = backend.allow_plain,
                     .hosts = AllowedHosts(backend.ws_uris, backend.allowed_hosts)};
  for (const std::string& text : backend.ws_uris)
    if (const auto uri = transport::parse_uri(text); uri && uri->secure()) rules.is_own_secure = true;
  return rules;
}

}  // namespace

DaemonState::DaemonState(const runtime::DaemonSettings& from, identity::Identity who,
                         std::unique_ptr<identity::Membership> joined, std::shared_ptr<reports::Spool> opened,
                         identity::SourceIdentity said)
    : spool(std::move(opened)),
      reports(&Progress::status_at_start),
      settings(from.state_dir + "/settings"),
      commands(from.state_dir + "/commands"),
      history(from.state_dir + "/history"),
      old_backends(from.state_dir + "/v1_backends"),
      identity_options(identity::with_source_identity(from.backend->identity, said)),
      announced(std::move(said)),
      identity(std::move(who)),
      membership(std::move(joined)),
      own_facts{.version = from.version, .tags = from.backend->tags, .lost_reports = spool->dropped().all()},
      facts(facts::gather(own_facts)),
      configured_addresses(rules_of(*from.backend)) {}

base::Result<std::unique_ptr<DaemonState>> DaemonState::open(const runtime::DaemonSettings& from) {
  auto first = identity::first_source_identity({.state_dir = from.state_dir,
                                                .source = from.backend->source,
                                                .configured = from.backend->identity,
                                                .log = from.log});
  if (!first) return std::move(first).error();
  identity::SourceIdentity said = std::move(*first);
  auto membership = identity::Membership::open(identity::with_source_identity(from.backend->membership, said),
                                               *from.redactor);
  if (!membership) return std::move(membership).error();
  if (const std::string& why = (*membership)->refused_token(); !why.empty()) from.log(Level::warning, why);
  if (!said.app_id.empty())
    if (const std::string why = identity::refuse_app(said.app_id, **membership); !why.empty()) {
      from.log(Level::warning, why);
      said.app_id = (*membership)->credentials()->name.app_id;
      if (auto kept = identity::store_source_identity(from.state_dir, said); !kept)
        from.log(Level::warning, kept.error().message());
    }
  auto identity = identity::load_identity(identity::with_source_identity(from.backend->identity, said));
  if (!identity) return std::move(identity).error();
  from.redactor->add(identity->token);
  auto spool = reports::Spool::open(from.state_dir + "/spool");
  if (!spool) return std::move(spool).error().with_context("the report spool");
  for (const std::string& problem : (*spool)->take_problems())
    from.log(Level::warning, problem);
  std::unique_ptr<DaemonState> parts(new DaemonState(from, std::move(*identity), std::move(*membership),
                                                     std::move(*spool), std::move(said)));
  auto reverted = parts->settings.load();
  if (!reverted)
    from.log(Level::warning, reverted.error().message());
  else if (*reverted)
    from.log(Level::warning,
             "settings of the backend were not confirmed before the agent ended: they are dropped");
  parts->check_addresses(from);
  parts->history.load();
  parts->old_backends.load();
  if (auto read = parts->commands.load(); !read) from.log(Level::warning, read.error().message());
  return parts;
}

AddressRules DaemonState::address_rules() const {
  AddressRules rules = configured_addresses;
  rules.is_member = membership->is_member();
  return rules;
}

// What an older version has stored, or has let itself be told, is held to the rules of this one. A machine
// without any address that it may use goes on with its recipe, and says why it is alone.
void DaemonState::check_addresses(const runtime::DaemonSettings& from) {
  const AddressRules rules = address_rules();
  auto dropped = settings.drop_uris([&](const std::string& uri) { return refuse_named_uri(uri, rules); });
  if (!dropped) {
    from.log(Level::error, dropped.error().message());
  } else {
    for (const SettingsStore::Dropped& each : *dropped)
      from.log(Level::warning,
               "a backend had this machine go to " + each.uri + ", which is dropped: " + each.why);
  }
  for (const std::string& uri : from.backend->ws_uris)
    if (const auto why = refuse_uri(uri, rules))
      from.log(Level::error, "ws_uri " + uri + " is not used: " + *why +
                                 ". Correct ws_uri; for a trial without TLS take a state folder of its own "
                                 "(--state-dir) and no join_token");
}

std::shared_ptr<engine::ReportSink> DaemonState::sink() {
  return std::make_shared<reports::SpoolSink>(
      spool, [this](const engine::Event& event) { return reports.encode(event); });
}

}  // namespace agent::runtime
