#include "bench/fleet/simulated_agent.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <random>

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

void SimulatedAgent::connect() {
  fd_ = start_connecting(fleet_.host, fleet_.port);
  stage_ = Stage::connecting;
  ++fleet_.connecting;
  if (!fd_) return lose("no socket");
  waits_for_room_ = true;
  fleet_.poller.add(fd_.get(), EPOLLIN | EPOLLOUT, *this);
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
    if (fleet_.first_problem.empty()) fleet_.first_problem = why;
  }
  stage_ = Stage::apart;
  fd_ = {};
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
  if (!fd_) return;
  if (stage_ == Stage::connecting) {
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return lose("connecting: errno " + std::to_string(error));
    out_ = upgrade_request(fleet_.host, "/agent/");
    stage_ = Stage::upgrading;
  }
  if ((events & EPOLLOUT) != 0) flush();
  if (fd_ && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read();
}

void SimulatedAgent::read() {
  static char buffer[64 * 1024];
  const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return lose("the backend closed the connection");
  in_.append(buffer, static_cast<std::size_t>(got));
  if (stage_ == Stage::upgrading) {
    const std::size_t end = in_.find("\r\n\r\n");
    if (end == std::string::npos) return;
    if (!in_.starts_with("HTTP/1.1 101")) return lose("no websocket: " + in_.substr(0, in_.find('\r')));
    in_.erase(0, end + 4);
    greet();
  }
  take_frames();
}

void SimulatedAgent::greet() {
  stage_ = Stage::greeting;
  protocol::Handshake handshake;
  handshake.instance_id = id_;
  handshake.app_id = fleet_.app;
  handshake.agent_version = "0.1.0";
  handshake.instance_token = uid_;
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
  send(handshake);
}

void SimulatedAgent::take_frames() {
  std::size_t done = 0;
  while (fd_) {
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
  if (!fd_) return;
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
  } else if (const auto* nack = std::get_if<protocol::Nack>(&message->body)) {
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

void SimulatedAgent::send(const protocol::AgentBody& body) {
  append_frame(out_, Opcode::text, protocol::encode(protocol::AgentMessage{body}), random_mask());
  flush();
}

void SimulatedAgent::flush() {
  std::size_t done = 0;
  while (done < out_.size()) {
    const ssize_t put = ::send(fd_.get(), out_.data() + done, out_.size() - done, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno != EAGAIN) return lose("the backend broke the connection");
    if (put < 0) break;
    done += static_cast<std::size_t>(put);
  }
  if (done == out_.size())
    out_ = {};
  else
    out_.erase(0, done);
  const bool waits = !out_.empty();
  if (waits != waits_for_room_) {
    waits_for_room_ = waits;
    fleet_.poller.change(fd_.get(), waits ? EPOLLIN | EPOLLOUT : EPOLLIN, *this);
  }
}

}  // namespace fleet
