// InstanceStore: the rows of instances: who they are, presence, tags, facts. See store.hpp for threads and
// errors.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/domain/access/identity.hpp"
#include "backend/domain/model.hpp"
#include "backend/domain/reports/fleet_health.hpp"
#include "backend/domain/selectors/selector.hpp"
#include "base/result.hpp"

namespace backend::store {

struct StoredFacts {
  std::string hash;
  std::string facts;  // JSON
};

class InstanceStore {
 public:
  virtual ~InstanceStore() = default;

  // By app and id. `selector` may be null. With facts when `with_facts`.
  virtual base::Result<domain::Page<domain::Instance>> list_instances(const domain::InstanceFilter& filter,
                                                                      const domain::Selector* selector,
                                                                      const domain::PageRequest& page,
                                                                      bool with_facts = false) = 0;
  virtual base::Result<domain::Instance> find_instance(std::string_view app_id,
                                                       std::string_view instance_id) = 0;
  virtual base::Result<domain::Instance> find_instance(domain::InstanceKey instance) = 0;
  virtual base::Result<domain::FleetCounts> fleet(std::string_view app_id, domain::Millis now) = 0;
  // Looks at every instance.
  virtual base::Result<domain::FleetHealth> fleet_health(domain::Millis now) = 0;

  // ---- who it is
  // Nothing: there is no such instance.
  virtual base::Result<std::optional<domain::KnownInstance>> find_known_instance(
      std::string_view app_id, std::string_view instance_id) = 0;
  // The first sight of one. `token_hash` "": it has a certificate.
  virtual base::Result<domain::InstanceKey> add_instance(std::string_view app_id,
                                                         std::string_view instance_id,
                                                         std::string_view token_hash, domain::Millis now) = 0;
  // One that is enrolled: adds it, or takes from it its token, a revocation and the connection that it has.
  // It is unplaced. Its epoch grows, so that what an old connection still sends does not count; one of 0
  // stays: the first handshake is to come.
  virtual base::Result<void> reset_instance(std::string_view app_id, std::string_view instance_id,
                                            domain::Millis now) = 0;
  // Its token is gone and its epoch grows, as above.
  virtual base::Result<void> revoke_instance(domain::InstanceKey instance, std::string_view why,
                                             domain::Millis now) = 0;
  // It waits to be approved since then; 0: it is approved. `from`: its network, of one without a certificate.
  virtual base::Result<void> set_pending(domain::InstanceKey instance, domain::Millis since,
                                         std::string_view from) = 0;
  virtual base::Result<void> set_token_hash(domain::InstanceKey instance, std::string_view token_hash) = 0;
  // Those that wait and have no certificate.
  virtual base::Result<domain::PendingCounts> count_pending(std::string_view network) = 0;
  // The one of this network that has waited longest.
  virtual base::Result<void> remove_oldest_pending(std::string_view network) = 0;
  virtual base::Result<void> remove_pending(domain::Millis before) = 0;
  // That it asked for and was not given; "": none.
  virtual base::Result<void> set_wished_name(std::string_view app_id, std::string_view instance_id,
                                             std::string_view name) = 0;
  // Nobody waits for it any more; `at` 0: they do again. Its `edit` grows.
  virtual base::Result<void> set_excluded(domain::InstanceKey instance, domain::Millis at,
                                          std::string_view why) = 0;
  // Its `edit` grows. One that is over has its end in `until`, and nothing else.
  virtual base::Result<void> set_pause(domain::InstanceKey instance, const domain::Pause& pause) = 0;
  // False: it is connected, or not there.
  virtual base::Result<bool> remove_offline_instance(std::string_view app_id,
                                                     std::string_view instance_id) = 0;

  // ---- handshakes and presence
  // Finds or adds a stream of reports.
  virtual base::Result<domain::AgentStream> put_agent(domain::InstanceKey instance,
                                                      std::string_view agent_uid, domain::Millis now) = 0;
  // The oldest go, so that no more than so many are left; `current` stays.
  virtual base::Result<void> remove_oldest_agents(domain::InstanceKey instance, domain::AgentKey current,
                                                  std::size_t most) = 0;
  // Streams that their instance has another one for, and of which no report is left.
  virtual base::Result<domain::Swept> remove_dead_agents(const domain::Sweep& sweep) = 0;
  // It is connected and placed from now on; answers its new epoch.
  virtual base::Result<std::uint64_t> set_connected(const domain::ConnectedAgent& agent,
                                                    domain::Millis now) = 0;
  // Whether no newer connection of the instance was admitted, and nothing has ended it.
  virtual base::Result<bool> is_current(const domain::AgentSession& session) = 0;
  // What the machine says of itself. False: the epoch is stale, and nothing was changed.
  virtual base::Result<bool> set_said_holds(const domain::AgentSession& session,
                                            std::span<const protocol::MachineHold> holds) = 0;
  // A stale epoch changes nothing.
  virtual base::Result<void> set_offline(const domain::AgentSession& session, domain::Millis now) = 0;
  // At the backend's start, which must be the only one: docs/architecture.md, "What assumes one process".
  // Answers those that were connected when the backend before it ended.
  virtual base::Result<std::vector<domain::InstanceKey>> set_all_offline() = 0;
  // Written for many at once, seldom.
  virtual base::Result<void> set_last_seen(std::span<const domain::InstanceKey> instances,
                                           domain::Millis now) = 0;

  // ---- tags and facts
  // The operator's, with Instance::tag_scopes; its `edit` grows.
  virtual base::Result<void> set_operator_tags(domain::InstanceKey instance, const domain::Tags& tags,
                                               const domain::Tags& scopes = {}) = 0;
  // Nothing: none were ever stored.
  virtual base::Result<std::optional<StoredFacts>> find_facts(domain::InstanceKey instance) = 0;
  virtual base::Result<void> set_facts(domain::InstanceKey instance, std::string_view hash,
                                       std::string_view facts) = 0;
};

}  // namespace backend::store
