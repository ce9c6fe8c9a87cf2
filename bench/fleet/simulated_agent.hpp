// A simulated agent: everything that the wire sees of one, and nothing of what it would do to a machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/fleet/frames.hpp"
#include "bench/fleet/link.hpp"
#include "bench/fleet/poller.hpp"
#include "pki/private_key.hpp"
#include "protocol/messages.hpp"

namespace fleet {

class SimulatedAgent;

// What all agents of a load have in common, and what is counted about them.
struct Fleet {
  Poller& poller;
  std::string host;
  std::uint16_t port = 0;
  std::string app;
  std::string prefix;              // of instance ids
  std::unique_ptr<TlsCommon> tls;  // null: plain, and agents are known by their instance_token
  std::string join_token;          // with TLS: what an agent without a certificate enrols with

  std::size_t connecting = 0;
  std::size_t welcome = 0;  // agents that are
  std::uint64_t results_acknowledged = 0;
  std::uint64_t refused = 0;  // reports that the backend did not take
  std::uint64_t lost_connections = 0;
  std::uint64_t failed_attempts = 0;  // to connect or enrol; each is followed by another
  std::uint64_t full_handshakes = 0;  // of TLS, as is the next
  std::uint64_t resumed_handshakes = 0;
  std::int64_t slowest_handshake_ns = 0;  // from connect() to the end of TLS's handshake
  std::string first_problem;

  virtual ~Fleet() = default;
  virtual void welcomed(SimulatedAgent& agent) = 0;
  // It has its certificate now, and no connection: connect() is next.
  virtual void certified(SimulatedAgent& agent) = 0;
  virtual void recipe_arrived(SimulatedAgent& agent, const protocol::RecipeMetadata& recipe) = 0;
  virtual void all_acknowledged(SimulatedAgent& agent) = 0;
  // It has a certificate of an authority that was announced, instead of the one before.
  virtual void renewed(SimulatedAgent& agent) = 0;

 protected:
  explicit Fleet(Poller& a_poller) : poller(a_poller) {}
};

class SimulatedAgent final : public Watcher {
 public:
  SimulatedAgent(Fleet& fleet, std::size_t number);

  // Makes the key and the request for a certificate, so that the time for it is not the backend's. False: no
  // memory.
  bool prepare();
  // With TLS and no certificate yet: enrols. Else shakes hands.
  void connect();
  // Closes the connection in order, if there is one; connect() is next.
  void leave();
  // Reports this many more results, as fast as acknowledgements allow.
  void report(std::uint64_t results);
  bool is_welcome() const { return stage_ == Stage::welcome; }
  bool has_certificate() const { return kept_.certificate != nullptr; }
  bool all_acknowledged() const { return acknowledged_ == wanted_; }
  std::int64_t recipe_version() const { return recipe_version_; }

  void ready(std::uint32_t events) override;

 private:
  enum class Stage { apart, connecting, securing, upgrading, enrolling, greeting, welcome };
  static constexpr std::uint64_t kWindow = 64;  // reports that may be unacknowledged

  void lose(const std::string& why);
  void connect_later();
  void secure();
  void enrol();
  void take_certificate(const protocol::CertIssued& issued, const std::string& mid);
  void take_authorities(const protocol::Authorities& announced, const std::string& mid);
  void renew();
  std::string note_issuer(const std::string& pem);
  void greet();
  void read();
  void take_frames();
  void take_message(std::string_view text);
  void take_acknowledgement(std::uint64_t seq);
  void send_reports();
  void send(const protocol::AgentBody& body, std::string re = {});
  void flush();
  void watch(std::uint32_t events);

  Fleet& fleet_;
  const std::string id_;
  const std::string uid_;
  std::optional<pki::PrivateKey> key_;  // while it enrols; the next too
  std::string request_;
  TlsKept kept_;
  Link link_;
  std::int64_t connect_start_ = 0;
  Stage stage_ = Stage::apart;
  std::string in_;
  std::string out_;
  std::uint32_t watched_ = 0;
  unsigned failures_ = 0;
  std::int64_t retry_after_ms_ = -1;
  std::int64_t recipe_version_ = 0;
  std::string recipe_digest_;
  std::uint64_t wanted_ = 0;  // the last seq that there is
  std::uint64_t sent_ = 0;    // on this connection
  std::uint64_t acknowledged_ = 0;
  std::vector<std::string> authorities_;  // by the hashes of their keys, as announced
  std::string issuer_;                    // of the certificate; "": not known
};

}  // namespace fleet
