#include "transport/dial.hpp"

#include <utility>

#include "transport/connect.hpp"
#include "transport/upgrade.hpp"

namespace transport {

Task<base::Result<std::shared_ptr<WebSocket>>> dial(DialOptions options) {
  if (options.uri.secure())
    co_return base::Error(base::ErrorCode::unsupported,
                          options.uri.text() + ": TLS is not supported yet, use " +
                              (options.uri.scheme == "wss" ? "ws://" : "http://"));
  ConnectOptions way{.uri = options.uri,
                     .proxy = options.proxy,
                     .resolve_timeout = options.resolve_timeout,
                     .connect_timeout = options.connect_timeout,
                     .answer_timeout = options.answer_timeout};
  auto socket = co_await connect(std::move(way));
  if (!socket) co_return std::move(socket).error();

  UpgradeRequest request{
      .uri = options.uri, .headers = std::move(options.headers), .timeout = options.answer_timeout};
  request.headers.insert(request.headers.begin(), {"User-Agent", options.user_agent});
  co_return co_await request_upgrade(std::move(*socket), std::move(request), options.web_socket);
}

}  // namespace transport
