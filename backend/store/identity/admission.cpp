#include "backend/store/identity/admission.hpp"

#include <span>

#include "backend/domain/access/admission_rules.hpp"
#include "backend/domain/json_text.hpp"
#include "backend/store/identity/certificates.hpp"
#include "backend/store/transaction.hpp"
#include "base/sha256.hpp"

namespace backend::store {

using base::ErrorCode;
using base::Result;

namespace {

// A machine that comes for the first time, and has to be approved: its row binds its name to its token.
Result<void> note_stranger(Store& store, const protocol::Handshake& handshake,
                           const domain::PendingCounts& counts, const std::string& network,
                           domain::Millis now) {
  const domain::WaitingRoom room = domain::room_to_wait(counts);
  if (room == domain::WaitingRoom::none) return {};
  if (room == domain::WaitingRoom::oldest_of_busiest_goes)
    if (auto gone = store.remove_oldest_pending(counts.busiest); !gone) return gone;
  auto added = store.add_instance(handshake.app_id, handshake.instance_id,
                                  base::sha256_hex(handshake.instance_token), now);
  if (!added) return std::move(added).error();
  return store.set_pending(*added, now, network);
}

domain::Admission refused(domain::HandshakeRefusal refusal) {
  domain::Admission admission;
  admission.verdict = refusal.verdict;
  admission.told = refusal.told.empty() ? refusal.reason : std::move(refusal.told);
  admission.reason = std::move(refusal.reason);
  return admission;
}

// One without a certificate, where such have to be approved. It learns nothing about names that are not its
// own.
Result<domain::Admission> turn_away(Store& store, const protocol::Handshake& handshake,
                                    domain::HandshakeRefusal refusal, bool is_known,
                                    const std::string& network, domain::Millis now) {
  auto counts = store.count_pending(network);
  if (!counts) return std::move(counts).error();
  refusal.told = domain::told_to_strangers(handshake, domain::room_to_wait(*counts));
  if (refusal.verdict == domain::Admission::Verdict::pending && !is_known)
    if (auto noted = note_stranger(store, handshake, *counts, network, now); !noted)
      return std::move(noted).error();
  domain::Admission admission = refused(std::move(refusal));
  admission.is_stranger = true;
  return admission;
}

// What is stored about the peer, as far as the decision needs it. `app` is set when it is known.
Result<domain::AdmissionFacts> read_admission_facts(Store& store, const protocol::Handshake& handshake,
                                                    const std::optional<domain::Credential>& credential,
                                                    domain::App& app) {
  domain::AdmissionFacts facts;
  auto found = store.find_app(handshake.app_id);
  if (!found && found.error().code() == ErrorCode::not_found) return facts;
  if (!found) return std::move(found).error();
  app = std::move(*found);
  facts.app_is_known = true;
  auto instance = store.find_known_instance(handshake.app_id, handshake.instance_id);
  if (!instance) return std::move(instance).error();
  facts.instance = std::move(*instance);
  if (!credential) {
    auto enrolment = store.newest_enrolment(handshake.app_id, handshake.instance_id);
    if (!enrolment) return std::move(enrolment).error();
    facts.was_enrolled = enrolment->has_value();
    return facts;
  }
  auto enrolment = store.find_enrolment(credential->uid);
  if (!enrolment) return std::move(enrolment).error();
  facts.enrolment = std::move(*enrolment);
  auto certificate = store.find_certificate(credential->serial);
  if (!certificate) return std::move(certificate).error();
  facts.certificate = std::move(*certificate);
  return facts;
}

Result<domain::InstanceKey> find_or_add_instance(Store& store, const protocol::Handshake& handshake,
                                                 const std::optional<domain::KnownInstance>& known,
                                                 bool has_certificate, domain::Millis now) {
  if (known) return known->key;
  return store.add_instance(handshake.app_id, handshake.instance_id,
                            has_certificate ? "" : base::sha256_hex(handshake.instance_token), now);
}

// The rows of a peer that is admitted.
Result<domain::Admission> note_admission(Store& store, const protocol::Handshake& handshake,
                                         const domain::AdmissionFacts& facts, domain::Millis now) {
  const auto& known = facts.instance;
  domain::Admission admission;
  admission.facts_hash = known ? known->facts_hash : "";
  admission.is_new = !known || known->epoch == 0;  // enrolment makes the row before the first handshake
  const std::string tags = domain::to_json(handshake.tags);
  const bool takes_inputs = domain::takes_inputs(handshake);
  admission.tags_changed =
      known && (known->unplaced || known->agent_tags != tags || known->takes_inputs != takes_inputs);
  if (facts.certificate) admission.issuer = facts.certificate->issuer;
  if (facts.certificate)
    if (auto noted = note_certificate_use(store, *facts.certificate, now); !noted)
      return std::move(noted).error();
  auto instance = find_or_add_instance(store, handshake, known, facts.certificate.has_value(), now);
  if (!instance) return std::move(instance).error();
  admission.session.instance = *instance;
  // Version 1 has no agent_uid; its reports have no seq either, and are numbered here.
  auto agent = store.put_agent(*instance, handshake.agent_uid.empty() ? "v1" : handshake.agent_uid, now);
  if (!agent) return std::move(agent).error();
  if (agent->is_new)
    if (auto bounded = store.remove_oldest_agents(*instance, agent->key, domain::kMostStreams); !bounded)
      return std::move(bounded).error();
  admission.session.agent = agent->key;
  admission.ack_seq = agent->last_seq;

  const domain::AdmittedVersions versions =
      domain::versions_after(known, handshake.recipe_version.value_or(0), handshake.recipe_digest);
  domain::ConnectedAgent connected{.instance = *instance,
                                   .agent = agent->key,
                                   .protocol = domain::protocol_of(handshake),
                                   .agent_version = handshake.agent_version,
                                   .os = handshake.os,
                                   .arch = handshake.arch,
                                   .boot_id = handshake.boot_id,
                                   .agent_tags = tags,
                                   .errors = std::nullopt,
                                   .recipe_version = versions.recipe,
                                   .reported_version = versions.reported,
                                   .takes_inputs = takes_inputs,
                                   .takes_holds = domain::takes_holds(handshake),
                                   .said_holds = domain::to_json(std::span(handshake.holds))};
  if (handshake.init_errors) connected.errors = domain::to_json(std::span(&*handshake.init_errors, 1));
  auto epoch = store.set_connected(connected, now);
  if (!epoch) return std::move(epoch).error();
  admission.session.epoch = *epoch;
  admission.verdict = domain::Admission::Verdict::admitted;
  return admission;
}

}  // namespace

Result<domain::Admission> admit(Store& store, const protocol::Handshake& handshake,
                                const std::optional<domain::Credential>& credential, domain::Millis now,
                                const StrangerTerms& strangers) {
  if (auto refusal = domain::refuse_form(handshake, credential)) return refused(std::move(*refusal));
  return in_transaction(store, [&]() -> Result<domain::Admission> {
    domain::App app;
    auto facts = read_admission_facts(store, handshake, credential, app);
    if (!facts) return std::move(facts).error();
    facts->approves_strangers = strangers.approves;
    if (auto refusal = domain::refuse_peer(handshake, credential, *facts, now)) {
      if (!credential && strangers.approves)
        return turn_away(store, handshake, std::move(*refusal), facts->instance.has_value(),
                         strangers.network, now);
      return refused(std::move(*refusal));
    }
    auto admission = note_admission(store, handshake, *facts, now);
    if (admission) admission->app = std::move(app);
    return admission;
  });
}

}  // namespace backend::store
