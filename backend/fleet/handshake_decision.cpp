#include "backend/fleet/handshake_decision.hpp"

#include "backend/domain/access/instants.hpp"
#include "backend/domain/limits/peer_network.hpp"
#include "backend/store/history/audit.hpp"
#include "backend/store/history/history.hpp"
#include "backend/store/identity/admission.hpp"
#include "backend/store/inventory/update_orders.hpp"

namespace backend::fleet {

namespace {

// Whether the agent has the states of what it should run.
bool has_states(const protocol::Handshake& handshake, int version, const domain::Instance& instance) {
  return version >= 2 && !handshake.recipe_digest.empty() &&
         handshake.recipe_digest == instance.recipe_digest;
}

}  // namespace

base::Result<HandshakeDecision> decide_handshake(store::Store& store, const protocol::Handshake& handshake,
                                                 const std::optional<domain::Credential>& credential,
                                                 const HandshakeTerms& terms) {
  const int version = terms.version;
  const std::string& peer = terms.peer;
  const domain::Millis now = domain::now_millis();
  auto admission = store::admit(store, handshake, credential, now,
                                {.approves = terms.approves_strangers, .network = domain::network_of(peer)});
  if (!admission) return std::move(admission).error();
  HandshakeDecision decision{.admission = std::move(*admission)};
  const domain::Admission& admitted = decision.admission;
  using Verdict = domain::Admission::Verdict;
  if (admitted.verdict == Verdict::wrong_token || admitted.verdict == Verdict::revoked ||
      admitted.verdict == Verdict::wrong_name) {
    auto noted = store::add_audit(store,
                                  {.at = now,
                                   .actor = std::string(domain::kAgentActor),
                                   .action = "agent.refused",
                                   .object = handshake.app_id + "/" + handshake.instance_id,
                                   .detail = admitted.reason,
                                   .from = peer,
                                   .result = std::string(domain::kDenied)},
                                  terms.proved);
    if (!noted) return std::move(noted).error();
  }
  if (admitted.verdict != domain::Admission::Verdict::admitted) return decision;

  const domain::InstanceKey key = admitted.session.instance;
  // First of all: who is told what depends on it.
  if (!handshake.history.empty()) {
    auto looked =
        store::look_at_mark(store, handshake.history, handshake.app_id + "/" + handshake.instance_id, now);
    if (!looked) return std::move(looked).error();
    decision.put_back = std::move(*looked);
  }
  auto history = store::history_mark(store);
  if (!history) return std::move(history).error();
  decision.history = std::move(*history);
  Placed placed;
  if (admitted.is_new || admitted.tags_changed) {
    auto now_placed = place_instance(store, key);
    if (!now_placed) return std::move(now_placed).error();
    placed = std::move(*now_placed);
  }
  auto instance = store.find_instance(key);
  if (!instance) return std::move(instance).error();
  decision.instance = std::move(*instance);
  decision.instance.facts.clear();  // of no use here
  // An agent that is ahead of us, or has another list (our database is from a backup), gets the version after
  // its own.
  const bool may_be_ahead = decision.instance.recipe_version == handshake.recipe_version.value_or(0) + 1;
  if (admitted.is_new || admitted.tags_changed || may_be_ahead) {
    auto delivery = prepare_delivery(store, std::move(placed), {key});
    if (!delivery) return std::move(delivery).error();
    decision.delivery = std::move(*delivery);
    decision.delivery.changed.clear();  // the agent is told with all else
  }
  auto update = store::update_for(store,
                                  {.instance = key,
                                   .app_id = handshake.app_id,
                                   .instance_id = handshake.instance_id,
                                   .agent_version = handshake.agent_version,
                                   .is_version_1 = version < 2,
                                   .pinned = decision.put_back.empty() ? admitted.app.agent_version : "",
                                   .is_settling = terms.is_settling},
                                  now);
  if (!update) return std::move(update).error();
  decision.update = std::move(*update);
  if (decision.instance.placement != 0 && !has_states(handshake, version, decision.instance)) {
    auto content = read_placement(store, decision.instance.placement);
    if (!content) return std::move(content).error();
    decision.content = std::move(*content);
  }
  return decision;
}

}  // namespace backend::fleet
