// Inside transport/: what a server and its connections share.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "transport/http_server.hpp"

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
};

struct ServerState {
  ServerState(asio::any_io_executor executor, HttpServerOptions server_options, HttpHandler http_handler,
              std::vector<UpgradeRoute> routes)
      : options(std::move(server_options)),
        handler(std::move(http_handler)),
        upgrades(std::move(routes)),
        acceptor(executor),
        changed(executor) {}

  const HttpServerOptions options;
  const HttpHandler handler;
  const std::vector<UpgradeRoute> upgrades;
  tcp::acceptor acceptor;
  bool stopping = false;
  std::size_t open = 0;  // connections, websockets included
  std::set<HttpConnection*> http;
  std::map<std::string, std::size_t> per_address;  // by address_key(), see AddressPlace
  std::map<HttpConnection*, std::chrono::steady_clock::time_point> handshaking;  // and since when
  Wake changed;                                                                  // a connection has ended
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

// What max_per_address counts by: an IPv4 address, or the first half of an IPv6 address, which one site has
// whole.
std::string address_key(const tcp::socket& socket);

// One of the places that an address has, for as long as it lives.
class AddressPlace {
 public:
  AddressPlace(std::shared_ptr<ServerState> server, std::string address)
      : server_(std::move(server)), address_(std::move(address)) {
    ++server_->per_address[address_];
  }
  AddressPlace(const AddressPlace&) = delete;
  AddressPlace& operator=(const AddressPlace&) = delete;
  ~AddressPlace() {
    const auto of_address = server_->per_address.find(address_);
    if (--of_address->second == 0) server_->per_address.erase(of_address);
  }

 private:
  const std::shared_ptr<ServerState> server_;
  const std::string address_;
};

// Serves one client until it or the server has had enough.
Task<> serve_http(std::shared_ptr<ServerState> server, tcp::socket socket);

}  // namespace transport
