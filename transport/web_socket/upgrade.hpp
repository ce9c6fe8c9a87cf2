// Inside transport/: how a connection becomes a WebSocket, on either side.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "transport/async.hpp"
#include "transport/http.hpp"
#include "transport/tls/stream.hpp"
#include "transport/uri.hpp"
#include "transport/web_socket/web_socket.hpp"

namespace transport {

// What a client asks a server for.
struct UpgradeRequest {
  Uri uri;
  Headers headers;
  std::chrono::milliseconds timeout;
};

Task<base::Result<std::shared_ptr<WebSocket>>> request_upgrade(Stream stream, UpgradeRequest request,
                                                               WebSocketOptions options);

using BeastRequest = boost::beast::http::request<boost::beast::http::string_body>;

// Answers a client's request; one that is not a proper upgrade is answered with the HTTP error that fits.
Task<base::Result<std::shared_ptr<WebSocket>>> accept_upgrade(Stream stream, BeastRequest request,
                                                              WebSocketOptions options);

}  // namespace transport
