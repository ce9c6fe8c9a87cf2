// How a connection becomes an agent's: the handshake is judged by the store, in one transaction.
#include <utility>

#include "backend/domain/instants.hpp"
#include "backend/fleet/agent_connection.hpp"
#include "backend/store/admission.hpp"
#include "backend/store/audit.hpp"
#include "backend/store/instances.hpp"
#include "backend/store/update_orders.hpp"
#include "base/token.hpp"

namespace backend::fleet {

using namespace protocol::at_backend;

// What the store says about a handshake.
struct HandshakeDecision {
  domain::Admission admission;
  domain::Instance instance;                        // when admitted, as the following two
  std::shared_ptr<const PlacementContent> content;  // when the agent lacks it
  Delivery delivery;                                // for waits, and for nobody else
  std::optional<domain::UpdateOrder> update;
};

namespace {

// Whether the agent has the states of what it should run.
bool has_states(const protocol::Handshake& handshake, int version, const domain::Instance& instance) {
  return version >= 2 && !handshake.recipe_digest.empty() &&
         handshake.recipe_digest == instance.recipe_digest;
}

base::Result<HandshakeDecision> decide_handshake(store::Store& store, const protocol::Handshake& handshake,
                                                 const std::optional<domain::Credential>& credential,
                                                 int version, const std::string& peer) {
  const domain::Millis now = domain::now_millis();
  auto admission = store::admit(store, handshake, credential, now);
  if (!admission) return std::move(admission).error();
  HandshakeDecision decision{.admission = std::move(*admission)};
  const domain::Admission& admitted = decision.admission;
  using Verdict = domain::Admission::Verdict;
  if (admitted.verdict == Verdict::wrong_token || admitted.verdict == Verdict::revoked ||
      admitted.verdict == Verdict::wrong_name) {
    auto noted = store::add_audit(store, {.at = now,
                                          .actor = "agent",
                                          .action = "agent.refused",
                                          .object = handshake.app_id + "/" + handshake.instance_id,
                                          .detail = admitted.reason,
                                          .from = peer,
                                          .result = std::string(domain::kDenied)});
    if (!noted) return std::move(noted).error();
  }
  if (admitted.verdict != domain::Admission::Verdict::admitted) return decision;

  const domain::InstanceKey key = admitted.session.instance;
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
  // An agent that is ahead of us (our database is from a backup) gets the version after its own.
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
                                   .pinned = admitted.app.agent_version},
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

}  // namespace

transport::Task<> AgentConnection::answer_handshake(DecideHandshake asked) {
  const auto self = shared_from_this();
  if (fleet_.draining_) {
    perform(rules_.step(Drain{.retry_after_ms = fleet_.settings_.spread.count()}));
    co_return;
  }
  // The agent's facts have messages of their own; the token is of use to the store only.
  auto handshake = std::make_shared<const protocol::Handshake>(std::move(asked.handshake));
  auto deciding = fleet_.store_.write(
      [handshake, version = asked.version, peer = socket_->peer(),
       credential = credential_ ? std::optional(*credential_) : std::nullopt](store::Store& store) {
        return decide_handshake(store, *handshake, credential, version, peer);
      });
  const auto decision = co_await std::move(deciding);
  if (close_code_ != 0) co_return;
  if (fleet_.draining_) {  // since it was asked
    perform(rules_.step(Drain{.retry_after_ms = fleet_.settings_.spread.count()}));
    co_return;
  }
  if (!decision) {
    fleet_.log_.error("handshake of " + instance_id() + ": " + decision.error().message());
    close(transport::close_code::kTryAgainLater, "the handshake could not be stored");
    co_return;
  }
  switch (decision->admission.verdict) {
    case domain::Admission::Verdict::admitted:
      welcome(*decision, *handshake);
      break;
    case domain::Admission::Verdict::unknown_app:
      perform(rules_.step(NotReady{.reason = decision->admission.reason, .retry_after_ms = kNotReadyMs}));
      break;
    case domain::Admission::Verdict::wrong_token:
    case domain::Admission::Verdict::revoked:
    case domain::Admission::Verdict::wrong_name:
    case domain::Admission::Verdict::invalid:
      fleet_.metrics_.handshakes_refused.add();
      perform(rules_.step(Refused{decision->admission.reason}));
      break;
  }
}

void AgentConnection::welcome(const HandshakeDecision& decision, const protocol::Handshake& handshake) {
  const auto self = shared_from_this();
  const domain::Admission& admission = decision.admission;
  const domain::Instance& instance = decision.instance;
  session_ = admission.session;
  place_.reset();
  fleet_.connected(self, instance);
  if (close_code_ != 0) return;  // a newer connection was there before us

  perform(rules_.step(Accepted{.welcome = {.session = base::random_hex(8),
                                           .epoch = admission.session.epoch,
                                           .ack_seq = admission.ack_seq,
                                           .heartbeat_s = fleet_.settings_.heartbeat_s,
                                           .max_message = protocol::kLargestMessage,
                                           .report_changes_only = admission.app.report == "changes",
                                           .server_time = base::utc_now(),
                                           .facts_hash = admission.facts_hash}}));
  fleet_.deliver(decision.delivery);

  if (instance.recipe_version > 0) {
    RecipeTexts texts;
    if (decision.content) {
      tell_recipe(*decision.content, instance.recipe_version, texts);
    } else if (handshake.recipe_version == instance.recipe_version || instance.placement == 0) {
      told_version_ = instance.recipe_version;
      told_placement_ = instance.placement;
    } else {
      told_placement_ = instance.placement;  // it has the states: only the version is told
      tell_recipe({.placement = {.key = instance.placement, .digest = instance.recipe_digest}},
                  instance.recipe_version, texts);
    }
  }
  fleet_.tell_satisfied_waits(*this, instance.recipe_version);
  if (fleet_.is_watched(session_.instance)) tell(protocol::OutputSubscribe{.on = true});
  if (const auto& update = decision.update)
    tell(protocol::AgentUpdate{update->version, update->url, update->action_id});
}

transport::Task<> AgentConnection::sign(SignCertificate request) {
  const auto self = shared_from_this();
  auto signing = fleet_.store_.write(
      [asked = std::move(request.request), terms = fleet_.settings_.certificates, peer = socket_->peer(),
       credential = credential_ ? std::optional(*credential_) : std::nullopt](store::Store& store) {
        return credential ? renew_certificate(store, terms, *credential, asked, peer)
                          : enrol_agent(store, terms, asked, peer);
      });
  const auto done = co_await std::move(signing);
  if (close_code_ != 0) co_return;
  protocol::BackendBody answer = answer_to(done);
  perform(rules_.step(Tell{.body = std::move(answer), .re = std::move(request.re)}));
}

protocol::BackendBody AgentConnection::answer_to(const base::Result<Signed>& asked) {
  if (!asked) {
    fleet_.log_.error("signing a certificate for " + socket_->peer() + ": " + asked.error().message());
    return protocol::Nack{.error = "the certificate could not be issued; try again later", .retryable = true};
  }
  if (!asked->refusal.empty()) {
    fleet_.log_.warning("agent " + socket_->peer() + " gets no certificate: " + asked->refusal);
    return protocol::Nack{.error = asked->refusal};
  }
  fleet_.log_.info("agent " + asked->name + (credential_ ? " has a new certificate" : " is enrolled") +
                   ", from " + socket_->peer());
  if (credential_) {  // it has proved who it is: from here on the connection lives as long as the new one
    credential_->serial = asked->serial;
    credential_->not_after = asked->not_after;
  }
  if (asked->superseded != 0) fleet_.revoke(asked->superseded, "the machine was enrolled anew");
  return asked->issued;
}

transport::Task<> AgentConnection::store_facts(protocol::Facts facts) {
  const auto self = shared_from_this();
  // A patch on facts that we do not have would make them wrong under the right hash.
  if (!facts.full && facts_are_lost_) co_return;
  auto storing = fleet_.store_.write([facts = std::move(facts), key = session_.instance](
                                         store::Store& store) -> base::Result<std::optional<Delivery>> {
    auto put = store::put_facts(store, key, facts, "");
    if (!put) return std::move(put).error();
    if (!*put) return std::optional<Delivery>();
    auto placed = place_instance(store, key);
    if (!placed) return std::move(placed).error();
    auto delivery = prepare_delivery(store, std::move(*placed), {key});
    if (!delivery) return std::move(delivery).error();
    return std::optional<Delivery>(std::move(*delivery));
  });
  const auto stored = co_await std::move(storing);
  facts_are_lost_ = !stored || !*stored;  // the next handshake asks for them in full
  if (!stored)
    fleet_.log_.warning("facts of " + instance_id() + " were not stored: " + stored.error().message());
  else if (*stored)
    fleet_.deliver(**stored);
}

}  // namespace backend::fleet
