#include "transport/server/http_server.hpp"

#include <poll.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <optional>

#include "transport/http_text.hpp"
#include "transport/server/server_state.hpp"
#include "transport/tokens.hpp"
#include "transport/uri.hpp"

namespace transport {
namespace {

constexpr int kBacklog = 4096;
// After an error that will not go away at once, such as no free descriptors.
constexpr std::chrono::milliseconds kAcceptPause(100);
// So many are taken before others have their turn. More than one, or a loop that is busy with handshakes
// would leave most of them to the system, whose queue is short.
constexpr int kAcceptedAtOnce = 64;
// How often somebody looks whether a handshake has to give way, while others wait.
constexpr std::chrono::milliseconds kDecidePause(100);

// Of the places, for addresses that are known; and what one address may have of those for handshakes.
constexpr std::size_t kReservedConnections = 20;  // one in so many
constexpr std::size_t kReservedHandshakes = 4;
constexpr std::size_t kHandshakesOfAddress = 2;

constexpr std::size_t kMostKnown = 16 * 1024;  // two MiB or so
constexpr std::chrono::hours kKnownFor(24);

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

void make_give_way(ServerState& server, std::optional<ServerState::Id> id) {
  if (!id) return;
  if (const auto found = server.places.find(*id); found != server.places.end()) found->second->give_way();
}

void take_client(const std::shared_ptr<ServerState>& server, tcp::socket socket, const tcp::endpoint& peer) {
  const auto now = ServerState::Clock::now();
  const ServerState::Id id = ++server->last_id;
  std::string address = address_key(peer.address());
  const std::size_t others = server->open - std::min(server->guests.size(), server->open);
  const Guests::Verdict verdict =
      server->guests.arrive(id, address, server->known.has(address, now), others, now);
  make_give_way(*server, verdict.gives_way);
  if (!verdict.may_enter) return turn_away(socket, server->options);
  ErrorCode ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const auto executor = socket.get_executor();
  auto place = std::make_shared<AddressPlace>(server, id, std::move(address));
  place->waits(server->options.patience);
  spawn(executor, serve_http(server, std::move(socket), std::move(place)));
}

// Without descriptors accept() fails also when there is nobody to accept.
bool somebody_waits(ServerState& server) {
  pollfd listener{.fd = server.acceptor.native_handle(), .events = POLLIN, .revents = 0};
  return ::poll(&listener, 1, 0) == 1;
}

// Takes what has come. False: there is no room for more, and it takes time until there is.
bool accept_some(const std::shared_ptr<ServerState>& server) {
  for (int count = 0; count < kAcceptedAtOnce; ++count) {
    ErrorCode error;
    tcp::endpoint peer;
    tcp::socket socket(server->acceptor.get_executor());
    server->acceptor.accept(socket, peer, error);
    if (error == asio::error::would_block || error == asio::error::try_again) return true;
    if (error == asio::error::connection_aborted || error == asio::error::interrupted) continue;
    if (error) {
      if (!somebody_waits(*server)) return true;
      // Most likely there are no descriptors left, and one who makes us wait has one.
      const auto room = server->guests.make_room();
      make_give_way(*server, room);
      return room.has_value();
    }
    take_client(server, std::move(socket), peer);
  }
  return true;
}

// Never stops while the server runs: whoever is too many is told so, or makes another one give way.
Task<> accept_clients(std::shared_ptr<ServerState> server) {
  while (!server->stopping) {
    auto [error] = co_await server->acceptor.async_wait(tcp::acceptor::wait_read, kAsTuple);
    if (server->stopping) co_return;
    if (error || !accept_some(server)) co_await sleep_for(kAcceptPause);
  }
}

Task<> decide_now_and_then(std::shared_ptr<ServerState> server) {
  while (!server->stopping && server->handshakes.waiting() > 0) {
    co_await sleep_for(kDecidePause);
    server->decide_handshakes();
  }
  server->deciding_later = false;
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
    const auto left = state->http;
    for (const auto& [id, connection] : left)
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
    const auto connections = state_->http;
    for (const auto& [id, connection] : connections)
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

ServerState::ServerState(asio::any_io_executor executor, HttpServerOptions server_options,
                         HttpHandler http_handler, std::vector<UpgradeRoute> routes)
    : options(std::move(server_options)),
      handler(std::move(http_handler)),
      upgrades(std::move(routes)),
      acceptor(executor),
      guests({.most = options.max_connections,
              .of_address = options.max_per_address,
              .reserved = options.max_connections / kReservedConnections}),
      handshakes({.most = options.max_handshaking,
                  .of_address = std::max<std::size_t>(options.max_handshaking / kHandshakesOfAddress, 1),
                  .reserved = options.max_handshaking / kReservedHandshakes,
                  .patience = options.patience}),
      known(kMostKnown, kKnownFor),
      changed(executor) {}

void ServerState::decide_handshakes() {
  const Handshakes::Decision decision = handshakes.decide(Clock::now());
  for (const Id id : decision.give_way)
    if (const auto found = http.find(id); found != http.end()) found->second->abort();
  for (const Id id : decision.begin)
    if (const auto found = http.find(id); found != http.end()) found->second->begin_handshake();
  if (deciding_later || handshakes.waiting() == 0) return;
  deciding_later = true;
  spawn(acceptor.get_executor(), decide_now_and_then(shared_from_this()));
}

std::string address_key(const asio::ip::address& address) {
  if (address.is_v4()) return address.to_string();
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
  if (!error) acceptor.non_blocking(true, error);
  if (error) return listen_error(error, where);
  tcp::endpoint bound = acceptor.local_endpoint(error);
  if (error) return listen_error(error, where);
  return std::unique_ptr<HttpServer>(std::make_unique<TcpHttpServer>(std::move(state), std::move(bound)));
}

}  // namespace transport
