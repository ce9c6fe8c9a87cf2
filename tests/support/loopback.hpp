// For tests with real sockets on loopback: a loop with a time limit, and peers that misbehave as told.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <doctest/doctest.h>

#include "base/unique_fd.hpp"
#include "transport/async.hpp"

namespace tests {

// Runs `body`, a lambda that is a coroutine, on the loop until it is done. The test fails when that takes too
// long.
template <class Body>
void run_on(transport::Loop& loop, Body body, std::chrono::milliseconds within = std::chrono::seconds(20)) {
  bool done = false;
  const auto wrapped = [&]() -> transport::Task<> {
    co_await body();
    done = true;
  };
  transport::spawn(loop.get_executor(), wrapped());
  const auto end = std::chrono::steady_clock::now() + within;
  while (!done && std::chrono::steady_clock::now() < end)
    loop.run_one_until(end);
  REQUIRE(done);
}

// A loop on a thread of its own, for tests that block.
class LoopThread {
 public:
  LoopThread() : work_(loop_.get_executor()) {
    thread_ = std::thread([this] { loop_.run(); });
  }
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;
  ~LoopThread() { stop(); }

  transport::Loop& loop() { return loop_; }

  // Runs `body` on the loop's thread and waits for it.
  template <class Body>
  void call(Body body) {
    std::promise<void> done;
    transport::asio::post(loop_, [&] {
      body();
      done.set_value();
    });
    done.get_future().wait();
  }

  void stop() {
    loop_.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  transport::Loop loop_{1};
  transport::asio::executor_work_guard<transport::Loop::executor_type> work_;
  std::thread thread_;
};

// A blocking TCP connection that sends exactly what it is told and reads only when it is told.
class RawPeer {
 public:
  explicit RawPeer(base::UniqueFd fd) : fd_(std::move(fd)) {}
  // `source`: an address of loopback's, "127.0.0.9".
  static RawPeer connect(std::uint16_t port, int receive_buffer = 0, const char* source = nullptr) {
    base::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (source) {
      sockaddr_in from{};
      from.sin_family = AF_INET;
      REQUIRE(::inet_pton(AF_INET, source, &from.sin_addr) == 1);
      REQUIRE(::bind(fd.get(), reinterpret_cast<sockaddr*>(&from), sizeof from) == 0);
    }
    if (receive_buffer > 0)
      ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    return RawPeer(std::move(fd));
  }

  bool send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // What comes until `end` has been seen, the other side has closed, or the time is over.
  std::string read_until(std::string_view end,
                         std::chrono::milliseconds within = std::chrono::seconds(10)) const {
    const auto deadline = std::chrono::steady_clock::now() + within;
    std::string text;
    std::array<char, 65536> piece;
    // Not beyond `end`: the rest is for the next call.
    const std::size_t most = end.empty() ? piece.size() : 1;
    while (end.empty() || text.find(end) == std::string::npos) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      pollfd wait{fd_.get(), POLLIN, 0};
      if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0) break;
      const ssize_t got = ::recv(fd_.get(), piece.data(), most, 0);
      if (got <= 0) break;
      text.append(piece.data(), static_cast<std::size_t>(got));
    }
    return text;
  }
  // Until the other side has closed.
  std::string read_all(std::chrono::milliseconds within = std::chrono::seconds(10)) const {
    return read_until({}, within);
  }
  // True if the other side closes within that time; what it sends is dropped.
  bool sees_close(std::chrono::milliseconds within) const {
    const auto start = std::chrono::steady_clock::now();
    (void)read_until({}, within);
    return std::chrono::steady_clock::now() - start < within;
  }

  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }

 private:
  base::UniqueFd fd_;
};

// Listens on a port that the system chose; connections wait until they are accepted.
class RawListener {
 public:
  RawListener() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(fd_.get(), 16) == 0);
    socklen_t size = sizeof address;
    REQUIRE(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
  }

  std::uint16_t port() const { return port_; }
  RawPeer accept() const { return RawPeer(base::UniqueFd(::accept(fd_.get(), nullptr, nullptr))); }
  // Wakes a thread that waits in accept().
  void shutdown() const { ::shutdown(fd_.get(), SHUT_RDWR); }

 private:
  base::UniqueFd fd_;
  std::uint16_t port_ = 0;
};

}  // namespace tests
