// How a connection becomes an agent's: the handshake is judged by the store, in one transaction.
#include <algorithm>
#include <utility>

#include "backend/domain/access/instants.hpp"
#include "backend/fleet/agent_connection.hpp"
#include "backend/fleet/handshake_decision.hpp"
#include "backend/store/inventory/instances.hpp"
#include "base/token.hpp"
#include "protocol/capabilities.hpp"

namespace backend::fleet {

using namespace protocol::at_backend;

transport::Task<> AgentConnection::answer_handshake(DecideHandshake asked, bool is_over) {
  const auto self = shared_from_this();
  if (is_over) {
    fleet_.metrics_.messages_over.add();
    perform(rules_.step(
        Drain{.retry_after_ms = fleet_.come_again_ms(), .reason = "too many handshakes: come again later"}));
    co_return;
  }
  if (fleet_.draining_) {
    perform(rules_.step(Drain{.retry_after_ms = fleet_.settings_.spread.count()}));
    co_return;
  }
  // The agent's facts have messages of their own; the token is of use to the store only.
  auto handshake = std::make_shared<const protocol::Handshake>(std::move(asked.handshake));
  auto deciding = fleet_.store_.write(
      [handshake, version = asked.version, peer = socket_->peer(), proved = proved_,
       approves = fleet_.settings_.approve_strangers, is_settling = fleet_.is_settling(),
       credential = credential_ ? std::optional(*credential_) : std::nullopt](store::Store& store) {
        return decide_handshake(store, *handshake, credential,
                                {.version = version,
                                 .peer = peer,
                                 .proved = proved,
                                 .approves_strangers = approves,
                                 .is_settling = is_settling});
      });
  const auto decision = co_await std::move(deciding);
  if (close_code_ != 0) co_return;
  if (fleet_.draining_) {  // since it was asked
    perform(rules_.step(Drain{.retry_after_ms = fleet_.settings_.spread.count()}));
    co_return;
  }
  if (!decision) {
    fleet_.condition_.failed("handshake of " + instance_id(), decision.error());
    perform(rules_.step(Drain{.retry_after_ms = fleet_.come_again_ms(),
                              .reason = "the handshake could not be stored: come again later"}));
    co_return;
  }
  if (decision->admission.verdict == domain::Admission::Verdict::admitted)
    welcome(*decision, *handshake);
  else
    turn_away(decision->admission, *handshake);
}

// The peer hears what it may know; the log has the reason.
void AgentConnection::turn_away(const domain::Admission& admission, const protocol::Handshake& handshake) {
  using Verdict = domain::Admission::Verdict;
  const bool waits = admission.verdict == Verdict::pending || admission.verdict == Verdict::unknown_app;
  if (!waits) fleet_.metrics_.handshakes_refused.add();
  // Of others that are refused there is a row of the audit, and the session's line.
  if (waits || admission.is_stranger)
    log(waits ? terminal::LogLevel::info : terminal::LogLevel::warning,
        "agent " + handshake.app_id + "/" + handshake.instance_id + " from " + socket_->peer() +
            " is not admitted: " + admission.reason);
  if (waits || admission.is_stranger)
    perform(rules_.step(NotReady{.reason = admission.told, .retry_after_ms = kNotReadyMs}));
  else
    perform(rules_.step(Refused{admission.told}));
}

void AgentConnection::welcome(const HandshakeDecision& decision, const protocol::Handshake& handshake) {
  const auto self = shared_from_this();
  const domain::Admission& admission = decision.admission;
  const domain::Instance& instance = decision.instance;
  if (credential_) credential_->issuer = admission.issuer;
  session_ = admission.session;
  use_app(admission.app);
  if (const auto place = std::exchange(place_, nullptr)) place->admit();
  // It is who it says: from here on all of its connections count together. Each enrolment has another uid.
  proved_ = app_id() + "/" + instance_id() + (credential_ ? " " + credential_->uid : "");
  limits_ = fleet_.limits_of(proved_);
  fleet_.connected(self, instance);
  if (close_code_ != 0) return;  // a newer connection was there before us
  const SharedAuthorities& authorities = fleet_.authorities_;
  // Retired since the certificate was looked at.
  if (credential_ && authorities && !authorities->with_issuer(admission.issuer))
    return revoked(std::string(kRetiredIssuer));

  perform(rules_.step(Accepted{.welcome = {.capabilities = {std::string(protocol::kCanHold)},
                                           .session = base::random_hex(8),
                                           .epoch = admission.session.epoch,
                                           .ack_seq = admission.ack_seq,
                                           .heartbeat_s = fleet_.settings_.heartbeat_s,
                                           .max_message = protocol::kLargestMessage,
                                           .report_changes_only = admission.app.report == "changes",
                                           .server_time = base::utc_now(),
                                           .facts_hash = admission.facts_hash,
                                           .history = decision.history}}));
  if (!decision.put_back.empty()) fleet_.log_.warning(decision.put_back);
  note_history(decision.history);
  if (credential_ && authorities) greet_with_authorities(handshake.authorities);
  // Before it has anything new to run.
  const domain::Millis now = domain::now_millis();
  const bool thinks_so =
      std::ranges::any_of(handshake.holds, [](const protocol::MachineHold& hold) { return !hold.is_local; });
  if (instance.takes_holds && (instance.pause.is_on(now) || thinks_so)) tell_pause(instance.pause, now);
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

// An agent that has exactly these authorities, and a certificate of the newest, is told nothing.
void AgentConnection::greet_with_authorities(const std::vector<std::string>& said) {
  constexpr std::chrono::milliseconds kSoon = std::chrono::seconds(1);
  const AuthoritySet& all = *fleet_.authorities_;
  const std::vector<std::string> wanted = all.root_hashes();
  const auto is_among = [](const std::vector<std::string>& hashes) {
    return [&hashes](const std::string& hash) { return std::ranges::find(hashes, hash) != hashes.end(); };
  };
  const bool has_all = std::ranges::all_of(wanted, is_among(said));
  if (has_all) trusts_ = all.number;
  const bool has_others = !std::ranges::all_of(said, is_among(wanted));
  if (!has_all || has_others || credential_->issuer != all.newest().issuer_hash())
    announce_authorities(kSoon);
}

transport::Task<> AgentConnection::sign(SignCertificate request) {
  const auto self = shared_from_this();
  CertificateTerms terms{.authorities = fleet_.authorities_, .life = fleet_.settings_.certificates.life};
  const bool trusts_all = terms.authorities && trusts_ == terms.authorities->number;
  auto signing = fleet_.store_.write(
      [asked = std::move(request.request), terms = std::move(terms), peer = socket_->peer(), trusts_all,
       credential = credential_ ? std::optional(*credential_) : std::nullopt,
       shown = shown_ ? std::optional(*shown_) : std::nullopt](store::Store& store) {
        return credential ? renew_certificate(store, terms, *credential, shown, trusts_all, asked, peer)
                          : enrol_agent(store, terms, asked, peer);
      });
  const auto done = co_await std::move(signing);
  if (close_code_ != 0) co_return;
  protocol::BackendBody answer = answer_to(done);
  const bool is_renewal = credential_ && std::holds_alternative<protocol::CertIssued>(answer);
  std::string mid = is_renewal ? certificate_mid(done->serial) : "";
  perform(rules_.step(Tell{.body = std::move(answer), .mid = std::move(mid), .re = std::move(request.re)}));
}

protocol::BackendBody AgentConnection::answer_to(const base::Result<Signed>& asked) {
  if (!asked) {
    fleet_.condition_.failed("signing a certificate for " + socket_->peer(), asked.error());
    return protocol::Nack{.error = "the certificate could not be issued; try again later", .retryable = true};
  }
  if (!asked->refusal.empty()) {
    log(asked->is_for_now ? terminal::LogLevel::debug : terminal::LogLevel::warning,
        "agent " + socket_->peer() + " gets no certificate: " + asked->refusal);
    return protocol::Nack{.error = asked->refusal, .retryable = asked->is_for_now};
  }
  fleet_.log_.info("agent " + asked->name + (credential_ ? " has a new certificate" : " is enrolled") +
                   ", from " + socket_->peer());
  if (credential_) {  // it has proved who it is: from here on the connection lives as long as the new one
    if (!shown_) shown_ = std::make_unique<domain::Credential>(*credential_);
    credential_->serial = asked->serial;
    credential_->issuer = asked->issuer;
    credential_->not_after = asked->not_after;
  }
  if (asked->superseded != 0) fleet_.revoke(asked->superseded, "the machine was enrolled anew");
  return asked->issued;
}

// ---- facts

transport::Task<> AgentConnection::take_facts(protocol::Facts facts, bool is_over) {
  const auto self = shared_from_this();
  // A patch on facts that we do not have would make them wrong under the right hash.
  if (!facts.full && facts_are_lost_) co_return;
  if (!is_over && !is_gathering_) {
    std::vector<protocol::Facts> one;
    one.push_back(std::move(facts));
    auto storing = store_facts(std::move(one));
    co_await std::move(storing);
    co_return;
  }
  if (!gather_facts(std::move(facts)) || is_gathering_) co_return;
  is_gathering_ = true;
  transport::spawn(socket_->executor(), store_gathered(weak_from_this()));
}

// False: they are more than can wait.
bool AgentConnection::gather_facts(protocol::Facts facts) {
  constexpr std::size_t kMostGathered = 64;
  constexpr std::size_t kMostBytes = 2 * 1024 * 1024;
  if (facts.full) {
    facts_.clear();  // the latest wins
    facts_are_lost_ = false;
  }
  facts_.push_back(std::move(facts));
  std::size_t bytes = 0;
  for (const protocol::Facts& each : facts_)
    bytes += (each.full ? each.full->text.size() : 0) + (each.patch ? each.patch->text.size() : 0);
  if (facts_.size() <= kMostGathered && bytes <= kMostBytes) return true;
  facts_.clear();
  facts_are_lost_ = true;
  tell(protocol::Nack{
      .error = "facts come faster than they are stored, one set in 10 s: these are left out, and asked for "
               "again at the next connection",
      .retryable = true});
  return false;
}

// Until there are no more. Holds no connection that has ended: its facts are asked for at the next handshake.
transport::Task<> AgentConnection::store_gathered(std::weak_ptr<AgentConnection> weak) {
  for (;;) {
    domain::Millis wait = 0;
    std::shared_ptr<transport::Wake> pause;
    {
      const auto self = weak.lock();
      if (!self || self->close_code_ != 0) co_return;
      if (self->facts_.empty()) {
        self->is_gathering_ = false;
        co_return;
      }
      wait = self->limits_->wait(domain::MessageKind::facts, domain::steady_millis());
      if (wait == 0) {
        self->limits_->take(domain::MessageKind::facts, 0, domain::steady_millis());
        auto storing = self->store_facts(std::exchange(self->facts_, {}));
        co_await std::move(storing);
        continue;
      }
      pause = self->pause();
    }
    co_await pause->wait_for(std::chrono::milliseconds(wait));
  }
}

transport::Task<> AgentConnection::store_facts(std::vector<protocol::Facts> all) {
  const auto self = shared_from_this();
  struct Stored {
    bool are_lost = false;
    std::optional<Delivery> delivery = {};
  };
  auto storing = fleet_.store_.write(
      [all = std::move(all), session = session_](store::Store& store) -> base::Result<Stored> {
        const domain::InstanceKey key = session.instance;
        auto before = store.find_facts(key);
        if (!before) return std::move(before).error();
        auto put = store::put_facts(store, session, all);
        if (!put) return std::move(put).error();
        if (!*put) return Stored{.are_lost = true};
        auto after = store.find_facts(key);
        if (!after) return std::move(after).error();
        // Placing looks at all assignments of the app: not for facts that say the same.
        if (*before && *after && (*before)->facts == (*after)->facts) return Stored{};
        auto placed = place_instance(store, key);
        if (!placed) return std::move(placed).error();
        auto delivery = prepare_delivery(store, std::move(*placed), {key});
        if (!delivery) return std::move(delivery).error();
        return Stored{.are_lost = false, .delivery = std::move(*delivery)};
      });
  const auto stored = co_await std::move(storing);
  facts_are_lost_ = !stored || stored->are_lost;  // the next handshake asks for them in full
  if (!stored) {
    fleet_.condition_.failed("facts of " + instance_id() + " were not stored", stored.error());
    if (stored.error().code() == base::ErrorCode::limit || stored.error().code() == base::ErrorCode::invalid)
      tell(protocol::Nack{.error = "the facts were not stored: " + stored.error().message()});
    co_return;
  }
  fleet_.metrics_.facts_stored.add();
  if (stored->delivery) fleet_.deliver(*stored->delivery);
}

}  // namespace backend::fleet
