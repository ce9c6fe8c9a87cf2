// AgentConnection: one agent's websocket. The rules are protocol::BackendSession's; this performs what it
// says.
//
// One coroutine reads, one writes (SendQueue). The reader stops while its reports wait to be stored beyond a
// bound, and while the machine has used up its limits (domain/agent_limits.hpp), so a fast agent is slowed
// down by its own socket. An agent that does not read what it is told is
// disconnected when its queue is full, and finds everything again at its next handshake. Kept small: there
// are ten thousand of them. Belongs to the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/domain/limits/agent_limits.hpp"
#include "backend/domain/model.hpp"
#include "backend/fleet/delivery.hpp"
#include "backend/fleet/fleet.hpp"
#include "protocol/backend_session.hpp"
#include "transport/async.hpp"
#include "transport/http.hpp"
#include "transport/web_socket/send_queue.hpp"
#include "transport/web_socket/web_socket.hpp"

namespace backend::fleet {

// What an agent is told whose certificate is of an authority that is no more.
inline constexpr std::string_view kRetiredIssuer =
    "the authority that issued this machine's certificate was retired: enrol again with a new join token";

class AgentConnection : public std::enable_shared_from_this<AgentConnection> {
 public:
  // `credential`: what the peer's certificate says; nothing: it has shown none.
  AgentConnection(Fleet& fleet, std::shared_ptr<transport::WebSocket> socket,
                  std::optional<domain::Credential> credential);

  // Counts against its address's limit until we know who is there.
  void hold(std::shared_ptr<transport::ClientPlace> place) { place_ = std::move(place); }
  // Until it ends, however it ends.
  transport::Task<> serve();

  const domain::AgentSession& session() const { return session_; }
  const std::string& app_id() const { return rules_.app_id(); }
  const std::string& instance_id() const { return rules_.instance_id(); }
  bool is_admitted() const { return session_.instance != 0; }
  // Who this is as far as it is proved, for limits, the log and the audit. A certificate that TLS lets in may
  // be dead, of a machine that was revoked and enrolled anew since: until the store has said that it is alive
  // it stands for itself and for nobody else. Without one: where it comes from, until its token was good.
  const std::string& proved() const { return proved_; }

  // Something to say. False when this agent cannot be told that, or cannot be told anything any more.
  bool tell(protocol::BackendBody body, std::string mid = {});
  // Its recipe. `texts` shares what was encoded among connections that are told the same.
  using RecipeTexts = std::unordered_map<std::string, transport::Text>;
  bool tell_recipe(const PlacementContent& content, std::int64_t version, RecipeTexts& texts);

  // The pause that an operator wants it to have now, or that there is none.
  void tell_pause(const domain::Pause& pause, domain::Millis now);

  // What it has asked about its waits and was not answered yet, if that can be answered now.
  void answer_waits(const std::string& re = {});

  // There is another set of authorities: it is told of them, or sent away when its certificate is of none.
  void authorities_changed(std::chrono::milliseconds within);

  // Its app has another module repository from now on.
  void use_app(const domain::App& app) {
    app_module_ = app.module;
    app_compat_v1_ = app.compat_v1;
  }

  bool has_expired(domain::Millis now) const { return credential_ && credential_->not_after <= now; }
  void superseded() { perform(rules_.step(protocol::at_backend::Superseded{})); }
  // What still waits to be written is not for it any more.
  void revoked(const std::string& reason);
  void drain(std::int64_t retry_after_ms) {
    perform(rules_.step(protocol::at_backend::Drain{.retry_after_ms = retry_after_ms}));
  }
  // Its reports, and how much they are.
  std::vector<domain::Report> take_reports();
  std::size_t reports_bytes() const { return reports_bytes_; }
  std::size_t waiting_bytes() const { return waiting_bytes_; }
  void let_go(std::size_t bytes);  // so much does not wait any more
  // `history`: what is to be said of it, if it was not said lately.
  void stored(std::uint64_t up_to_seq, const std::string& history);
  // They could not be stored: the agent keeps them, and sends them again later.
  void not_stored();

 private:
  // What the reader has to do before it goes on.
  struct Errands {
    std::optional<protocol::at_backend::DecideHandshake> handshake;
    std::optional<protocol::Facts> facts;
    std::optional<protocol::at_backend::SignCertificate> sign;
  };

  transport::Task<> read_all();
  transport::Task<> write_all();
  static transport::Task<> fire_after(std::weak_ptr<AgentConnection> weak,
                                      std::shared_ptr<transport::Wake> timer, std::int64_t ms);
  void stop_timer();
  transport::Task<> answer_handshake(protocol::at_backend::DecideHandshake asked, bool is_over);
  // What the machine's limits say about a message. True: nothing more is to be done about it.
  bool is_over_and_done(const protocol::AgentMessage& message, const domain::AgentLimits::Verdict& verdict);
  void note_limit(std::string_view what);
  // A line of the log that this peer causes.
  void log(terminal::LogLevel level, const std::string& text);
  // What a delay waits on: it ends with the connection.
  std::shared_ptr<transport::Wake> pause();
  void end_pauses();
  // Facts: stored at once, or gathered until it is their turn.
  transport::Task<> take_facts(protocol::Facts facts, bool is_over);
  bool gather_facts(protocol::Facts facts);
  static transport::Task<> store_gathered(std::weak_ptr<AgentConnection> weak);
  transport::Task<> store_facts(std::vector<protocol::Facts> facts);
  transport::Task<> sign(protocol::at_backend::SignCertificate request);
  void store_said_holds(std::vector<protocol::MachineHold> holds);
  protocol::BackendBody answer_to(const base::Result<Signed>& asked);
  void turn_away(const domain::Admission& admission, const protocol::Handshake& handshake);
  void welcome(const struct HandshakeDecision& decision, const protocol::Handshake& handshake);
  void take(domain::Report report);
  void note_history(const std::string& history);
  const protocol::ModuleSource& module_of(const PlacementContent& content) const;
  void malformed(const base::Error& error);
  void announce_authorities(std::chrono::milliseconds within);
  void greet_with_authorities(const std::vector<std::string>& said);
  // Whether this is the answer to something that nobody but the connection itself asked.
  bool take_own_answer(const protocol::at_backend::Answered& answered);
  void note_kept(std::string serial);
  // The name of the message that brings a certificate: the agent says under it that it has stored it.
  static std::string certificate_mid(const std::string& serial);
  void send(transport::Text text, std::string_view slot = {});
  void close(unsigned code, std::string reason);
  void add_audit(std::string action, std::string detail);

  Errands perform(std::vector<protocol::at_backend::Action> actions);
  struct Perform;

  Fleet& fleet_;
  const std::shared_ptr<transport::WebSocket> socket_;
  transport::SendQueue queue_;
  protocol::BackendSession rules_;
  std::unique_ptr<domain::Credential> credential_;  // the newest that it has; null: there is no certificate
  std::unique_ptr<domain::Credential> shown_;       // the one that it came with, if that is another by now
  std::string proved_;
  std::shared_ptr<domain::AgentLimits>
      limits_;  // of proved_; of this connection alone, without a certificate
  domain::AgentSession session_;
  std::vector<domain::Report> reports_;  // not yet handed to the store
  std::size_t frame_bytes_ = 0;          // of the message that is being handled
  std::size_t reports_bytes_ = 0;        // of reports_
  std::size_t waiting_bytes_ = 0;        // of all that is not stored yet
  protocol::ModuleSource app_module_;    // of its app; no repository: none
  bool app_compat_v1_ = false;           // its app's recipes are of version 1
  std::int64_t told_version_ = 0;        // of the recipe that the agent has, or has been sent
  std::int64_t asked_waits_ = 0;         // the version whose waits it has asked about; 0: it was answered
  domain::PlacementKey told_placement_ = 0;
  std::size_t told_history_ = 0;                   // its hash
  domain::Millis history_told_ = 0;                // by steady_millis()
  std::uint64_t trusts_ = 0;                       // the number of the set of authorities that it has taken
  bool facts_are_lost_ = false;                    // some that were sent were not stored
  bool is_gathering_ = false;                      // store_gathered() runs
  bool has_noted_limit_ = false;                   // in the log
  std::vector<protocol::Facts> facts_;             // gathered, in order; a full one is the first
  std::shared_ptr<transport::Wake> timer_;         // while one runs
  std::shared_ptr<transport::Wake> pause_;         // once something was delayed
  std::shared_ptr<transport::ClientPlace> place_;  // until the handshake is accepted
  unsigned close_code_ = 0;
  std::string close_reason_;
};

}  // namespace backend::fleet
