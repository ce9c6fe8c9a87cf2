// Inside transport/: a connection to a server, directly or through a proxy, with TLS where its address says
// so.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "base/result.hpp"
#include "transport/async.hpp"
#include "transport/client/proxies.hpp"
#include "transport/tls.hpp"
#include "transport/tls/stream.hpp"
#include "transport/uri.hpp"

namespace transport {

struct ConnectOptions {
  Uri uri;
  std::optional<Proxy> proxy;
  std::chrono::milliseconds resolve_timeout;
  std::chrono::milliseconds connect_timeout;  // for each address
  std::chrono::milliseconds answer_timeout;   // the proxy's
  std::chrono::milliseconds tls_timeout;      // for the TLS handshake
  std::shared_ptr<TlsClient> tls;             // for wss:// and https://
  bool refuses_near = false;                  // what is_near() says of the server's address
};

// Names are resolved anew on every call. An unknown name is `not_found`, a deadline `timed_out`, a server
// that is not the one that we want `permission`, no TLS where there should be `invalid` or `unsupported`, all
// else `io`.
Task<base::Result<Stream>> connect(ConnectOptions options);

}  // namespace transport
