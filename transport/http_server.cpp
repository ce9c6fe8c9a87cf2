#include "transport/http_server.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <set>

#include "transport/http_text.hpp"
#include "transport/server_state.hpp"
#include "transport/tokens.hpp"
#include "transport/uri.hpp"

namespace transport {
namespace {

constexpr int kBacklog = 4096;
// After an error that will not go away at once, such as no free descriptors.
constexpr std::chrono::milliseconds kAcceptPause(100);

// How often accepting looks for handshakes that must give way.
constexpr std::chrono::milliseconds kHandshakePause(100);

// As far as the system takes it at once: a client that is one too many gets no buffer and no time.
void turn_away(tcp::socket& socket, const HttpServerOptions& options) {
  if (options.tls) return;  // it would not understand
  const std::string text = format_head(
      {.status = 503, .server_name = options.server_name, .keep_alive = false}, {{"Retry-After", "5"}});
  ErrorCode ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(text), ignored);
  socket.shutdown(tcp::socket::shutdown_both, ignored);
}

bool too_many(const ServerState& server, const tcp::socket& socket) {
  if (server.open >= server.options.max_connections) return true;
  const auto of_address = server.per_address.find(address_key(socket));
  return of_address != server.per_address.end() && of_address->second >= server.options.max_per_address;
}

// Waits for a free place among the handshakes. If none becomes free the old ones are made to give way, or a
// few hundred half-open connections would keep everybody out. Not before: a fleet that comes back is slow,
// but moves.
Task<> wait_for_handshakes(std::shared_ptr<ServerState> server) {
  using Clock = std::chrono::steady_clock;
  const auto patience = Clock::now() + server->options.pressed_tls_deadline;
  while (!server->stopping && server->handshaking.size() >= server->options.max_handshaking) {
    std::vector<HttpConnection*> slow;
    const auto oldest = Clock::now() - server->options.pressed_tls_deadline;
    for (const auto& [connection, since] : server->handshaking)
      if (Clock::now() >= patience && since <= oldest) slow.push_back(connection);
    for (HttpConnection* connection : slow)
      connection->abort();
    co_await server->changed.wait_for(kHandshakePause);
  }
}

Task<> accept_clients(std::shared_ptr<ServerState> server) {
  while (!server->stopping) {
    co_await wait_for_handshakes(server);
    auto [error, socket] = co_await server->acceptor.async_accept(kAsTuple);
    if (server->stopping) co_return;
    if (error) {
      if (error != asio::error::connection_aborted) co_await sleep_for(kAcceptPause);
      continue;
    }
    if (too_many(*server, socket)) {
      turn_away(socket, server->options);
      continue;
    }
    ErrorCode ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    const auto executor = socket.get_executor();
    spawn(executor, serve_http(server, std::move(socket)));
  }
}

class TcpHttpServer final : public HttpServer {
 public:
  TcpHttpServer(std::shared_ptr<ServerState> state, tcp::endpoint endpoint)
      : state_(std::move(state)), endpoint_(std::move(endpoint)) {}
  TcpHttpServer(const TcpHttpServer&) = delete;
  TcpHttpServer& operator=(const TcpHttpServer&) = delete;
  ~TcpHttpServer() override { stop_now(); }

  void start() override { spawn(state_->acceptor.get_executor(), accept_clients(state_)); }

  void stop() override { stop_now(); }

  Task<bool> drained(std::chrono::milliseconds within) override {
    const auto state = state_;
    const auto end = std::chrono::steady_clock::now() + within;
    while (state->open > 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() <= 0) break;
      co_await state->changed.wait_for(left);
    }
    if (state->open == 0) co_return true;
    const std::set<HttpConnection*> left = state->http;
    for (HttpConnection* connection : left)
      connection->abort();
    co_return false;
  }

  std::uint16_t port() const override { return endpoint_.port(); }
  std::string address() const override {
    return join_host_port(endpoint_.address().to_string(), endpoint_.port());
  }
  std::size_t connections() const override { return state_->open; }

 private:
  void stop_now() {
    state_->stopping = true;
    ErrorCode ignored;
    state_->acceptor.close(ignored);
    const std::set<HttpConnection*> connections = state_->http;
    for (HttpConnection* connection : connections)
      connection->stop();
  }

  const std::shared_ptr<ServerState> state_;
  const tcp::endpoint endpoint_;
};

base::Result<tcp::endpoint> listen_endpoint(const std::string& text) {
  auto host = split_host_port(text, 0);
  if (!host) return std::move(host).error();
  if (host->host == "localhost") host->host = "127.0.0.1";
  ErrorCode error;
  const auto address = asio::ip::make_address(host->host, error);
  if (error)
    return base::Error(base::ErrorCode::invalid,
                       "\"" + host->host + "\" is not an address of this machine, like 127.0.0.1 or [::]");
  return tcp::endpoint(address, host->port);
}

base::Error listen_error(const ErrorCode& error, const std::string& where) {
  base::Error result = to_error(error, "listening on " + where);
  if (error == asio::error::address_in_use)
    return {result.code(), result.message() + ": does another server run here?"};
  return result;
}

}  // namespace

std::string address_key(const tcp::socket& socket) {
  ErrorCode error;
  const auto address = socket.remote_endpoint(error).address();
  if (error || address.is_v4()) return address.to_string();
  auto bytes = address.to_v6();
  if (bytes.is_v4_mapped()) return asio::ip::make_address_v4(asio::ip::v4_mapped, bytes).to_string();
  auto half = bytes.to_bytes();
  std::fill(half.begin() + 8, half.end(), static_cast<unsigned char>(0));
  return asio::ip::make_address_v6(half).to_string();
}

base::Result<std::unique_ptr<HttpServer>> HttpServer::listen(Loop& loop, HttpServerOptions options,
                                                             HttpHandler handler,
                                                             std::vector<UpgradeRoute> upgrades) {
  const std::string where = options.listen;
  auto endpoint = listen_endpoint(where);
  if (!endpoint) return std::move(endpoint).error().with_context("listen " + where);
  auto state = std::make_shared<ServerState>(loop.get_executor(), std::move(options), std::move(handler),
                                             std::move(upgrades));
  ErrorCode error;
  tcp::acceptor& acceptor = state->acceptor;
  acceptor.open(endpoint->protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && endpoint->address().is_v6()) acceptor.set_option(asio::ip::v6_only(false), error);
  if (!error) acceptor.bind(*endpoint, error);
  if (!error) acceptor.listen(kBacklog, error);
  if (error) return listen_error(error, where);
  tcp::endpoint bound = acceptor.local_endpoint(error);
  if (error) return listen_error(error, where);
  return std::unique_ptr<HttpServer>(std::make_unique<TcpHttpServer>(std::move(state), std::move(bound)));
}

}  // namespace transport
