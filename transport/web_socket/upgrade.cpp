#include "transport/web_socket/upgrade.hpp"

#include <boost/beast/http/status.hpp>

#include "transport/web_socket/stream_web_socket.hpp"

namespace transport {
namespace {

namespace http = boost::beast::http;

websocket::stream_base::timeout only_handshake(std::chrono::milliseconds time) {
  return {
      .handshake_timeout = time, .idle_timeout = websocket::stream_base::none(), .keep_alive_pings = false};
}

std::shared_ptr<WebSocket> wrap(StreamWebSocket::Beast stream, WebSocketOptions options) {
  stream.set_option(only_handshake(options.close_deadline));
  std::string peer = peer_name(stream.next_layer());
  const auto socket = std::make_shared<StreamWebSocket>(std::move(stream), options, std::move(peer));
  socket->start();
  return socket;
}

// Peers' texts end up in logs: no control characters.
std::string printable(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = '?';
  return result;
}

base::Error refused(const Uri& uri, const websocket::response_type& response) {
  const unsigned status = response.result_int();
  std::string text = uri.text() + " answered " + std::to_string(status) + " " +
                     printable({response.reason().data(), response.reason().size()}) +
                     " instead of opening a websocket";
  if (status == 404) text += ": is the path right?";
  if (status == 401 || status == 403) text += ": is this agent allowed there?";
  if (status == 503) text += ": the server is full or stopping";
  const bool mine = status >= 400 && status < 500;
  return {mine ? base::ErrorCode::permission : base::ErrorCode::io, std::move(text)};
}

}  // namespace

base::Error describe_end(const ErrorCode& error, const websocket::close_reason& reason) {
  if (error == websocket::error::closed) {
    std::string text = "closed by the peer";
    if (reason.code != websocket::close_code::none && reason.code != websocket::close_code::no_status)
      text +=
          ": " + std::to_string(reason.code) + " " + printable({reason.reason.data(), reason.reason.size()});
    return {base::ErrorCode::io, std::move(text)};
  }
  if (error == websocket::error::message_too_big)
    return {base::ErrorCode::limit, "the peer sent a message that is larger than allowed"};
  if (error == beast::error::timeout) return {base::ErrorCode::timed_out, "the peer did not close in time"};
  if (error.category() == ErrorCode(websocket::error::closed).category())
    return {base::ErrorCode::invalid, "the peer broke the websocket protocol: " + error.message()};
  return to_error(error, "connection lost");
}

Task<base::Result<std::shared_ptr<WebSocket>>> request_upgrade(Stream connection, UpgradeRequest request,
                                                               WebSocketOptions options) {
  StreamWebSocket::Beast stream(std::move(connection));
  stream.set_option(only_handshake(request.timeout));
  stream.set_option(
      websocket::stream_base::decorator([headers = request.headers](websocket::request_type& message) {
        for (const Header& header : headers)
          message.set(header.name, header.value);
      }));
  websocket::response_type response;
  const std::string host = request.uri.host_header();
  auto [error] = co_await stream.async_handshake(response, host, request.uri.target, kAsTuple);
  if (error == beast::error::timeout)
    co_return base::Error(base::ErrorCode::timed_out, request.uri.text() + " did not answer in time");
  if (error == websocket::error::upgrade_declined) co_return refused(request.uri, response);
  if (error) co_return to_error(error, request.uri.text() + " did not answer as a websocket server");
  stream.set_option(websocket::stream_base::decorator([](websocket::request_type&) {}));
  co_return wrap(std::move(stream), options);
}

Task<base::Result<std::shared_ptr<WebSocket>>> accept_upgrade(Stream connection, BeastRequest request,
                                                              WebSocketOptions options) {
  StreamWebSocket::Beast stream(std::move(connection));
  stream.set_option(only_handshake(options.write_deadline));
  auto [error] = co_await stream.async_accept(request, kAsTuple);
  if (error) co_return to_error(error, "accepting a websocket");
  co_return wrap(std::move(stream), options);
}

}  // namespace transport
