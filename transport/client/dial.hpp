// dial(): opens a websocket to a server: name, proxy, connection, TLS, upgrade, each with its deadline.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "transport/async.hpp"
#include "transport/client/proxies.hpp"
#include "transport/http.hpp"
#include "transport/tls.hpp"
#include "transport/uri.hpp"
#include "transport/web_socket/web_socket.hpp"

namespace transport {

struct DialOptions {
  Uri uri;
  std::optional<Proxy> proxy;      // see Proxies::proxy_for()
  std::shared_ptr<TlsClient> tls;  // for wss://
  std::string user_agent = "opsagent";
  Headers headers;  // sent with the upgrade, e.g. Authorization
  std::chrono::milliseconds resolve_timeout = std::chrono::seconds(10);
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);  // for each address
  std::chrono::milliseconds answer_timeout = std::chrono::seconds(10);  // proxy's answer, upgrade
  // Long, because a server that a whole fleet comes back to takes one after the other.
  std::chrono::milliseconds tls_timeout = std::chrono::seconds(30);
  WebSocketOptions web_socket;
};

// Resolves the name anew and tries its addresses in turn. On the loop of the coroutine that calls it. The
// error says which step failed and what to look at: "connection refused by 127.0.0.1:8963: is the backend
// running?"
Task<base::Result<std::shared_ptr<WebSocket>>> dial(DialOptions options);

}  // namespace transport
