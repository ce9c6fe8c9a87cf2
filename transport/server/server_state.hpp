// Inside transport/: what a server and its connections share.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transport/server/guests.hpp"
#include "transport/server/handshakes.hpp"
#include "transport/server/http_server.hpp"

namespace transport {

using asio::ip::tcp;

// A connection that still speaks HTTP, as its server sees it.
class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  // Ends it now if it is idle; else after the request that is under way. A stream is told.
  virtual void stop() = 0;
  // Ends it now.
  virtual void abort() = 0;
  // It has asked for a place among the handshakes, and has one.
  virtual void begin_handshake() = 0;
};

class AddressPlace;

struct ServerState : std::enable_shared_from_this<ServerState> {
  using Clock = std::chrono::steady_clock;
  using Id = Guests::Id;

  ServerState(asio::any_io_executor executor, HttpServerOptions server_options, HttpHandler http_handler,
              std::vector<UpgradeRoute> routes);

  // What the places for handshakes have become.
  void decide_handshakes();

  const HttpServerOptions options;
  const HttpHandler handler;
  const std::vector<UpgradeRoute> upgrades;
  tcp::acceptor acceptor;
  bool stopping = false;
  std::size_t open = 0;  // connections, websockets included
  Id last_id = 0;
  std::map<Id, HttpConnection*> http;
  std::map<Id, AddressPlace*> places;
  Guests guests;
  Handshakes handshakes;
  KnownAddresses known;
  bool deciding_later = false;  // a coroutine looks at the handshakes now and then
  Wake changed;                 // a connection has ended
};

// Counts a connection while it lives.
class CountedConnection {
 public:
  explicit CountedConnection(std::shared_ptr<ServerState> server) : server_(std::move(server)) {
    ++server_->open;
  }
  CountedConnection(const CountedConnection& other) : CountedConnection(other.server_) {}
  CountedConnection(CountedConnection&&) noexcept = default;
  CountedConnection& operator=(const CountedConnection&) = delete;
  CountedConnection& operator=(CountedConnection&&) = delete;
  ~CountedConnection() {
    if (!server_) return;
    --server_->open;
    server_->changed.notify();
  }

  ServerState& server() const { return *server_; }

 private:
  std::shared_ptr<ServerState> server_;
};

// What limits of an address count by: an IPv4 address, or the first half of an IPv6 address, which one site
// has whole.
std::string address_key(const asio::ip::address& address);

// A guest's place, for as long as it lives or until admit(). Its id has been let in by Guests.
class AddressPlace final : public ClientPlace {
 public:
  AddressPlace(std::shared_ptr<ServerState> server, ServerState::Id id, std::string address)
      : server_(std::move(server)), id_(id), address_(std::move(address)) {
    server_->places.emplace(id_, this);
  }
  AddressPlace(const AddressPlace&) = delete;
  AddressPlace& operator=(const AddressPlace&) = delete;
  ~AddressPlace() override {
    server_->guests.leave(id_);
    server_->places.erase(id_);
  }

  void remember() override { server_->known.note(address_, ServerState::Clock::now()); }
  void admit() override {
    remember();
    server_->guests.leave(id_);
  }

  // See Guests.
  void waits(std::chrono::milliseconds patience) {
    server_->guests.waits(id_, ServerState::Clock::now(), patience);
  }
  void is_busy() { server_->guests.is_busy(id_); }

  // How the connection ends when it has to give way to another.
  void set_end(std::function<void()> end) { end_ = std::move(end); }
  void give_way() {
    has_ended_ = true;
    if (end_) end_();
  }
  bool has_ended() const { return has_ended_; }

  ServerState::Id id() const { return id_; }
  const std::string& address() const { return address_; }

 private:
  const std::shared_ptr<ServerState> server_;
  const ServerState::Id id_;
  const std::string address_;
  std::function<void()> end_;
  bool has_ended_ = false;
};

// Serves one client until it or the server has had enough.
Task<> serve_http(std::shared_ptr<ServerState> server, tcp::socket socket,
                  std::shared_ptr<AddressPlace> place);

}  // namespace transport
