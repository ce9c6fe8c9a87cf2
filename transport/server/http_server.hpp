// HttpServer: one listener for HTTP/1.1 requests, server-sent events and websockets.
//
// Belongs to one loop; handlers run on its thread, one request of a connection after the other. Everything
// that a client controls is limited: sizes, times, connections. Nothing throws; what goes wrong with one
// client ends that client's connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "transport/async.hpp"
#include "transport/http.hpp"
#include "transport/tls.hpp"
#include "transport/web_socket/web_socket.hpp"

namespace transport {

struct HttpServerOptions {
  std::string listen = "127.0.0.1:0";  // address:port; port 0: chosen by the system
  std::shared_ptr<TlsServer> tls;      // null: no TLS
  std::size_t max_header = 16 * 1024;
  std::size_t max_body = 8 * 1024 * 1024;
  // May be empty. How large the body of a request with this head may be, at most max_body: asked before any
  // of it is read, so that strangers get no memory. What it sets aside for the body goes into `held`, and
  // lives as long as the request.
  std::function<std::size_t(HttpRequest&)> body_limit = {};
  // May be empty. The answer to a body that is larger than that, or than max_body; else a 413 of the server's
  // own.
  std::function<Task<HttpResponse>(HttpRequest)> too_large = {};
  // More are answered with 503 and closed (with TLS: closed), if nobody has to give way: of the connections
  // that make us wait, the longest-standing of the busiest address. One in twenty is kept for addresses that
  // are known (ClientPlace::remember).
  std::size_t max_connections = 20'000;
  // Of one address (IPv6: one /64), without the websockets whose handlers know who is there
  // (ClientPlace::admit): so that one client cannot take all of the above, while a site of two thousand
  // agents behind one NAT may still come back all at once.
  std::size_t max_per_address = 2048;
  // TLS handshakes under way. Each holds up to 50 KiB and a millisecond of work, for a stranger; and when a
  // fleet comes back at once, few at a time are done sooner than all together. The others wait for their
  // turn, each address in turn. One address has half of them at most, a quarter is kept for addresses that
  // are known. See Handshakes.
  std::size_t max_handshaking = 256;
  // Whoever makes us wait for longer may have to give way to others, where there is no room: in a handshake,
  // before it, in a request, before a websocket's handler has admitted it.
  std::chrono::milliseconds patience = std::chrono::seconds(2);
  std::chrono::milliseconds tls_deadline = std::chrono::seconds(10);
  std::chrono::milliseconds header_deadline = std::chrono::seconds(10);
  std::chrono::milliseconds body_deadline = std::chrono::seconds(30);
  std::chrono::milliseconds write_deadline = std::chrono::seconds(20);
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(60);  // between requests
  std::string server_name = "opsbackend";                             // header Server
  WebSocketOptions web_socket;                                        // for upgraded connections
};

using HttpHandler = std::function<Task<HttpResponse>(HttpRequest)>;

// A path where websockets are accepted.
struct UpgradeRoute {
  std::string path;
  // Owns the connection; it counts as open until the task returns.
  std::function<Task<>(HttpRequest, std::shared_ptr<WebSocket>)> handler;
  // May be empty. Asked before the upgrade: a response refuses it.
  std::function<std::optional<HttpResponse>(const HttpRequest&)> refuse = {};
};

class HttpServer {
 public:
  // Listens; nothing is accepted before start(). `handler` answers whatever is not an upgrade.
  static base::Result<std::unique_ptr<HttpServer>> listen(Loop& loop, HttpServerOptions options,
                                                          HttpHandler handler,
                                                          std::vector<UpgradeRoute> upgrades = {});
  virtual ~HttpServer() = default;

  virtual void start() = 0;

  // No new connections; idle ones are closed, requests under way are finished, streams see ended().
  // Websockets are their handlers' to close.
  virtual void stop() = 0;
  // After stop(): returns when no connection is left, or the time is over (false). Then all that is left is
  // aborted but for websockets.
  virtual Task<bool> drained(std::chrono::milliseconds within) = 0;

  // Where it really listens.
  virtual std::uint16_t port() const = 0;
  virtual std::string address() const = 0;  // "address:port"

  virtual std::size_t connections() const = 0;  // open ones, websockets included
};

}  // namespace transport
