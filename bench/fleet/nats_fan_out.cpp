#include "bench/fleet/nats_fan_out.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace fleet {

namespace {
constexpr std::size_t kConnectingAtOnce = 200;
}

// Speaks NATS's text protocol: CONNECT, SUB and PING out; +OK-less PONG and MSG in.
class NatsFanOut::Subscriber final : public Watcher {
 public:
  explicit Subscriber(NatsFanOut& owner) : owner_(owner), fd_(start_connecting(owner.host_, owner.port_)) {
    if (fd_) owner_.poller_.add(fd_.get(), EPOLLIN | EPOLLOUT, *this);
  }

  void ready(std::uint32_t events) override {
    if (!greeted_ && (events & EPOLLOUT) != 0) {
      greeted_ = true;
      owner_.poller_.change(fd_.get(), EPOLLIN, *this);
      send("CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB recipes 1\r\nPING\r\n");
    }
    if ((events & EPOLLIN) != 0) read();
  }

  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t put = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (put < 0 && errno != EAGAIN && errno != EINTR) return;
      if (put > 0) text.remove_prefix(static_cast<std::size_t>(put));
    }
  }

 private:
  void read() {
    static char buffer[64 * 1024];
    const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
    if (got <= 0) return;
    in_.append(buffer, static_cast<std::size_t>(got));
    if (!subscribed_ && in_.find("PONG\r\n") != std::string::npos) {
      subscribed_ = true;
      in_ = {};
      owner_.ready_one();
      return;
    }
    if (in_.starts_with("PING")) {
      in_ = {};
      send("PONG\r\n");
      return;
    }
    const std::size_t line = in_.find("\r\n");
    if (!in_.starts_with("MSG ") || line == std::string::npos) return;
    if (in_.size() < line + 2 + owner_.message_bytes_ + 2) return;
    in_ = {};
    owner_.arrived_one();
  }

  NatsFanOut& owner_;
  base::UniqueFd fd_;
  std::string in_;
  bool greeted_ = false;
  bool subscribed_ = false;
};

NatsFanOut::NatsFanOut(Poller& poller, std::string host, std::uint16_t port)
    : poller_(poller), host_(std::move(host)), port_(port) {}

NatsFanOut::~NatsFanOut() = default;

void NatsFanOut::subscribe(std::size_t subscribers, std::function<void()> subscribed) {
  wanted_ = subscribers;
  subscribed_ = std::move(subscribed);
  while (subscribers_.size() < std::min(wanted_, kConnectingAtOnce))
    subscribers_.push_back(std::make_unique<Subscriber>(*this));
}

void NatsFanOut::ready_one() {
  ++ready_;
  if (subscribers_.size() < wanted_) subscribers_.push_back(std::make_unique<Subscriber>(*this));
  if (ready_ == wanted_) subscribed_();
}

void NatsFanOut::publish(std::size_t bytes, std::function<void(std::vector<std::int64_t>)> arrived) {
  message_bytes_ = bytes;
  arrived_ = std::move(arrived);
  times_.clear();
  times_.reserve(wanted_);
  sent_ns_ = now_ns();
  subscribers_.front()->send("PUB recipes " + std::to_string(bytes) + "\r\n" + std::string(bytes, 'x') +
                             "\r\n");
}

void NatsFanOut::arrived_one() {
  times_.push_back(now_ns() - sent_ns_);
  if (times_.size() < wanted_) return;
  std::sort(times_.begin(), times_.end());
  arrived_(std::exchange(times_, {}));
}

}  // namespace fleet
