// Inside transport/: how a connected socket becomes a WebSocket, on either side.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "transport/async.hpp"
#include "transport/http.hpp"
#include "transport/uri.hpp"
#include "transport/web_socket.hpp"

namespace transport {

using asio::ip::tcp;

// What a client asks a server for.
struct UpgradeRequest {
  Uri uri;
  Headers headers;
  std::chrono::milliseconds timeout;
};

Task<base::Result<std::shared_ptr<WebSocket>>> request_upgrade(tcp::socket socket, UpgradeRequest request,
                                                               WebSocketOptions options);

using BeastRequest = boost::beast::http::request<boost::beast::http::string_body>;

// Answers a client's request; one that is not a proper upgrade is answered with the HTTP error that fits.
Task<base::Result<std::shared_ptr<WebSocket>>> accept_upgrade(tcp::socket socket, BeastRequest request,
                                                              WebSocketOptions options);

// "address:port" of the other side, an IPv4 address as such.
std::string peer_name(const tcp::socket& socket);

}  // namespace transport
