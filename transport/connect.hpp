// Inside transport/: a TCP connection to a server, directly or through a proxy.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <optional>

#include "base/result.hpp"
#include "transport/async.hpp"
#include "transport/proxies.hpp"
#include "transport/uri.hpp"

namespace transport {

using asio::ip::tcp;

struct ConnectOptions {
  Uri uri;
  std::optional<Proxy> proxy;
  std::chrono::milliseconds resolve_timeout;
  std::chrono::milliseconds connect_timeout;  // for each address
  std::chrono::milliseconds answer_timeout;   // the proxy's
};

// Names are resolved anew on every call. An unknown name is `not_found`, a deadline `timed_out`, all else
// `io`.
Task<base::Result<tcp::socket>> connect(ConnectOptions options);

}  // namespace transport
