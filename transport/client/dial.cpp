#include "transport/client/dial.hpp"

#include <utility>

#include "transport/client/connect.hpp"
#include "transport/web_socket/upgrade.hpp"

namespace transport {

Task<base::Result<std::shared_ptr<WebSocket>>> dial(DialOptions options) {
  ConnectOptions way{.uri = options.uri,
                     .proxy = options.proxy,
                     .resolve_timeout = options.resolve_timeout,
                     .connect_timeout = options.connect_timeout,
                     .answer_timeout = options.answer_timeout,
                     .tls_timeout = options.tls_timeout,
                     .tls = std::move(options.tls)};
  auto stream = co_await connect(std::move(way));
  if (!stream) co_return std::move(stream).error();

  UpgradeRequest request{
      .uri = options.uri, .headers = std::move(options.headers), .timeout = options.answer_timeout};
  request.headers.insert(request.headers.begin(), {"User-Agent", options.user_agent});
  co_return co_await request_upgrade(std::move(*stream), std::move(request), options.web_socket);
}

}  // namespace transport
