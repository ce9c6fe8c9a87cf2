#include "bench/fleet/simulated_agent.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <random>

#include "pki/certificate.hpp"
#include "pki/request.hpp"
#include "protocol/capabilities.hpp"
#include "protocol/codec.hpp"

namespace fleet {

namespace {

std::mt19937& randomness() {
  static std::mt19937 generator(20240229);
  return generator;
}

std::uint32_t random_mask() {
  return static_cast<std::uint32_t>(randomness()());
}

std::string hex_of(std::string_view text) {
  std::string uid;
  for (const char c : text) {
    constexpr char kDigits[] = "0123456789abcdef";
    uid += kDigits[static_cast<unsigned char>(c) >> 4];
    uid += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return uid;
}

}  // namespace

SimulatedAgent::SimulatedAgent(Fleet& fleet, std::size_t number)
    : fleet_(fleet), id_(fleet.prefix + std::to_string(number)), uid_(hex_of(id_)) {}

bool SimulatedAgent::prepare() {
  if (key_ || has_certificate()) return true;
  auto key = pki::PrivateKey::generate();
  if (!key) return false;
  auto request = pki::make_request(*key);
  if (!request) return false;
  key_ = std::move(*key);
  request_ = std::move(*request);
  return true;
}

void SimulatedAgent::connect() {
  connect_start_ = now_ns();
  stage_ = Stage::connecting;
  ++fleet_.connecting;
  if (!link_.open(fleet_.host, fleet_.port, fleet_.tls.get(), kept_)) return lose("no socket");
  watched_ = EPOLLIN | EPOLLOUT;
  fleet_.poller.add(link_.fd(), watched_, *this);
}

void SimulatedAgent::leave() {
  if (stage_ == Stage::apart) return;
  if (stage_ == Stage::welcome)
    --fleet_.welcome;
  else
    --fleet_.connecting;
  constexpr std::string_view kNormal = "\x03\xe8";  // 1000
  append_frame(out_, Opcode::close, kNormal, random_mask());
  std::size_t done = 0;
  link_.write(out_, done);  // or not: then the backend finds out by itself
  link_.close();
  stage_ = Stage::apart;
  in_ = {};
  out_ = {};
}

void SimulatedAgent::lose(const std::string& why) {
  if (stage_ == Stage::apart) return;
  if (stage_ == Stage::welcome) {
    --fleet_.welcome;
    ++fleet_.lost_connections;
    failures_ = 0;
  } else {
    --fleet_.connecting;
    ++failures_;
    ++fleet_.failed_attempts;
    if (fleet_.first_problem.empty()) fleet_.first_problem = why;
  }
  stage_ = Stage::apart;
  link_.close();
  in_ = {};
  out_ = {};
  connect_later();
}

// As real agents do: full jitter from 1 s doubling to 300 s, unless the backend named a time.
void SimulatedAgent::connect_later() {
  const std::int64_t longest = std::min<std::int64_t>(300'000, std::int64_t{1000} << std::min(failures_, 9U));
  std::int64_t delay_ms = std::uniform_int_distribution<std::int64_t>(0, longest)(randomness());
  if (retry_after_ms_ >= 0) delay_ms = retry_after_ms_;
  retry_after_ms_ = -1;
  fleet_.poller.at(now_ns() + delay_ms * 1'000'000, [this] { connect(); });
}

void SimulatedAgent::ready(std::uint32_t events) {
  if (!link_) return;
  if (stage_ == Stage::connecting) {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(link_.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return lose("connecting: errno " + std::to_string(error));
    stage_ = Stage::securing;
  }
  if (stage_ == Stage::securing) return secure();
  if ((events & EPOLLOUT) != 0) flush();
  if (link_ && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read();
}

void SimulatedAgent::secure() {
  const Link::Outcome outcome = link_.secure();
  if (outcome == Link::Outcome::broken) return lose("shaking hands: " + link_.problem());
  if (outcome == Link::Outcome::again) return watch(link_.wanted_events());
  if (link_.is_secure()) {
    ++(link_.was_resumed() ? fleet_.resumed_handshakes : fleet_.full_handshakes);
    fleet_.slowest_handshake_ns = std::max(fleet_.slowest_handshake_ns, now_ns() - connect_start_);
  }
  stage_ = Stage::upgrading;
  out_ = upgrade_request(fleet_.host, "/agent/");
  flush();
}

void SimulatedAgent::read() {
  const Link::Outcome outcome = link_.read(in_);
  if (outcome == Link::Outcome::again) return;
  if (outcome == Link::Outcome::broken) return lose(link_.problem());
  if (stage_ == Stage::upgrading) {
    const std::size_t end = in_.find("\r\n\r\n");
    if (end == std::string::npos) return;
    if (!in_.starts_with("HTTP/1.1 101")) return lose("no websocket: " + in_.substr(0, in_.find('\r')));
    in_.erase(0, end + 4);
    if (fleet_.tls && !has_certificate())
      enrol();
    else
      greet();
  }
  take_frames();
}

void SimulatedAgent::enrol() {
  stage_ = Stage::enrolling;
  if (!prepare()) return lose("making a key failed");
  send(protocol::CertRequest{
      .csr = request_, .token = fleet_.join_token, .app_id = fleet_.app, .instance_id = id_});
}

void SimulatedAgent::take_certificate(const protocol::CertIssued& issued, const std::string& mid) {
  if (stage_ == Stage::welcome && key_) {  // renewed: the next connection has it
    if (!kept_.take_certificate(issued.chain, key_->pem())) return lose("a certificate that does not fit");
    key_.reset();
    request_ = {};
    note_issuer(issued.chain);
    if (!mid.empty()) send(protocol::Ack{}, mid);
    return fleet_.renewed(*this);
  }
  if (stage_ != Stage::enrolling) return;
  if (!kept_.take_certificate(issued.chain, key_->pem())) return lose("a certificate that does not fit");
  authorities_ = {note_issuer(issued.chain)};
  key_.reset();
  request_ = {};
  failures_ = 0;
  leave();
  // Not from within the reading of the connection that has just ended.
  fleet_.poller.at(now_ns(), [this] { fleet_.certified(*this); });
}

// Answers the root's hash.
std::string SimulatedAgent::note_issuer(const std::string& pem) {
  const auto chain = pki::Certificate::parse_chain(pem);
  if (!chain || chain->size() < 2) return {};
  issuer_ = (*chain)[1].public_hash();
  return chain->back().public_hash();
}

// As real agents do: whoever it is that vouches is the process's to know, see TlsCommon.
void SimulatedAgent::take_authorities(const protocol::Authorities& announced, const std::string& mid) {
  authorities_.clear();
  for (const std::string& root : announced.roots)
    if (const auto certificate = pki::Certificate::parse(root))
      authorities_.push_back(certificate->public_hash());
  send(protocol::Ack{}, mid);
  if (issuer_ == announced.issuer) return;
  const std::int64_t within = std::clamp<std::int64_t>(announced.within_ms.value_or(0), 0, 60'000);
  const std::int64_t later_ms = std::uniform_int_distribution<std::int64_t>(0, within)(randomness());
  fleet_.poller.at(now_ns() + later_ms * 1'000'000, [this] { renew(); });
}

void SimulatedAgent::renew() {
  if (stage_ != Stage::welcome || key_) return;  // the next connection is told again
  auto key = pki::PrivateKey::generate();
  auto request = key ? pki::make_request(*key) : base::Result<std::string>(key.error());
  if (!request) return lose("making a key failed");
  key_ = std::move(*key);
  send(protocol::CertRequest{.csr = std::move(*request)});
}

void SimulatedAgent::greet() {
  stage_ = Stage::greeting;
  protocol::Handshake handshake;
  handshake.instance_id = id_;
  handshake.app_id = fleet_.app;
  handshake.agent_version = "0.1.0";
  if (!fleet_.tls) handshake.instance_token = uid_;
  handshake.protocol_max = 2;
  handshake.agent_uid = uid_;
  handshake.boot_id = "simulated";
  handshake.tags = {{"role", "simulated"}};
  handshake.facts_hash = "none";
  if (recipe_version_ > 0) handshake.recipe_version = recipe_version_;
  handshake.recipe_digest = recipe_digest_;
  handshake.last_seq = wanted_;
  handshake.os = "linux";
  handshake.arch = "x86_64";
  if (fleet_.tls) {
    handshake.capabilities = {std::string(protocol::kCanCertify), std::string(protocol::kCanTrust)};
    handshake.authorities = authorities_;
  }
  send(handshake);
}

void SimulatedAgent::take_frames() {
  std::size_t done = 0;
  while (link_) {
    const auto frame = first_frame(std::string_view(in_).substr(done));
    if (!frame) break;
    done += frame->size;
    if (frame->opcode == Opcode::ping) {
      append_frame(out_, Opcode::pong, frame->payload, random_mask());
      flush();
    } else if (frame->opcode == Opcode::close) {
      return lose("the backend closed the connection: " + std::string(frame->payload.substr(0, 100)));
    } else if (frame->opcode == Opcode::text) {
      take_message(frame->payload);
    }
  }
  if (!link_) return;
  if (done == in_.size())
    in_ = {};  // nothing is held while nothing is said
  else
    in_.erase(0, done);
}

void SimulatedAgent::take_message(std::string_view text) {
  const auto message = protocol::parse_backend_message(text);
  if (!message) return lose(message.error().message());
  if (const auto* welcome = std::get_if<protocol::Welcome>(&message->body)) {
    if (stage_ != Stage::greeting) return;
    stage_ = Stage::welcome;
    --fleet_.connecting;
    ++fleet_.welcome;
    failures_ = 0;
    sent_ = 0;
    take_acknowledgement(welcome->ack_seq);
    sent_ = acknowledged_;
    fleet_.welcomed(*this);
    send_reports();
  } else if (const auto* ack = std::get_if<protocol::Ack>(&message->body)) {
    if (ack->ack_seq) take_acknowledgement(*ack->ack_seq);
    send_reports();
  } else if (const auto* recipe = std::get_if<protocol::RecipeMetadata>(&message->body)) {
    recipe_version_ = recipe->recipe_version;
    if (recipe->states) recipe_digest_ = recipe->digest;
    fleet_.recipe_arrived(*this, *recipe);
  } else if (const auto* goodbye = std::get_if<protocol::Goodbye>(&message->body)) {
    retry_after_ms_ = goodbye->retry_after_ms.value_or(-1);
  } else if (const auto* issued = std::get_if<protocol::CertIssued>(&message->body)) {
    take_certificate(*issued, message->envelope.mid);
  } else if (const auto* announced = std::get_if<protocol::Authorities>(&message->body)) {
    take_authorities(*announced, message->envelope.mid);
  } else if (const auto* nack = std::get_if<protocol::Nack>(&message->body)) {
    if (stage_ == Stage::enrolling) return lose("enrolling: " + nack->error);
    ++fleet_.refused;
    if (fleet_.first_problem.empty()) fleet_.first_problem = nack->error;
  } else if (const auto* not_ready = std::get_if<protocol::AppNotReady>(&message->body)) {
    lose(not_ready->reason);
  }
}

void SimulatedAgent::take_acknowledgement(std::uint64_t seq) {
  if (seq <= acknowledged_) return;
  fleet_.results_acknowledged += seq - acknowledged_;
  acknowledged_ = seq;
  sent_ = std::max(sent_, seq);
  if (all_acknowledged()) fleet_.all_acknowledged(*this);
}

void SimulatedAgent::report(std::uint64_t results) {
  wanted_ += results;
  send_reports();
}

void SimulatedAgent::send_reports() {
  if (stage_ != Stage::welcome) return;
  while (sent_ < wanted_ && sent_ - acknowledged_ < kWindow) {
    ++sent_;
    protocol::StateLog log;
    log.instance_id = id_;
    log.app_id = fleet_.app;
    log.recipe_version = std::max<std::int64_t>(recipe_version_, 1);
    log.id = "state" + std::to_string(sent_ % 10);
    log.state_result = true;
    log.state_comment = "/etc/service/part.conf was written";
    log.seq = sent_;
    log.run_id = "0123456789abcdef";
    log.round = 1 + sent_ / 10;
    log.outcome = "changed";
    log.changes = {
        {.what = "content of /etc/service/part.conf", .before = "", .after = "", .diff = "+a line\n"}};
    log.started = "2024-02-29T12:00:00.000Z";
    log.duration_ms = 3;
    log.cpu_ms = 1;
    append_frame(out_, Opcode::text, protocol::encode(protocol::AgentMessage{log}), random_mask());
  }
  flush();
}

void SimulatedAgent::send(const protocol::AgentBody& body, std::string re) {
  append_frame(out_, Opcode::text, protocol::encode(protocol::AgentMessage{body, {.re = std::move(re)}}),
               random_mask());
  flush();
}

void SimulatedAgent::flush() {
  std::size_t done = 0;
  if (link_.write(out_, done) == Link::Outcome::broken) return lose(link_.problem());
  if (done == out_.size())
    out_ = {};
  else
    out_.erase(0, done);
  watch(out_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

void SimulatedAgent::watch(std::uint32_t events) {
  if (events == watched_) return;
  watched_ = events;
  fleet_.poller.change(link_.fd(), events, *this);
}

}  // namespace fleet
