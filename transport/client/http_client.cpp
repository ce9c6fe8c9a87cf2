#include "transport/client/http_client.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <limits>
#include <optional>
#include <utility>

#include "transport/client/connect.hpp"
#include "transport/http_text.hpp"
#include "transport/tls/tls_context.hpp"
#include "transport/tokens.hpp"

namespace transport {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

using Parser = http::response_parser<http::string_body>;
using OnEvent = std::function<bool(const ServerEvent&)>;

constexpr std::uint32_t kMaxHeader = 64 * 1024;
constexpr std::size_t kReadBuffer = 64 * 1024;

HttpReply to_reply(Parser& parser) {
  auto& message = parser.get();
  HttpReply reply;
  reply.status = message.result_int();
  for (const auto& field : message)
    reply.headers.push_back({std::string(field.name_string()), std::string(field.value())});
  reply.body = std::move(message.body());
  return reply;
}

// Asking again does no harm.
bool is_safe(std::string_view method) {
  return method == "GET" || method == "HEAD";
}

}  // namespace

struct HttpClient::Impl {
  explicit Impl(HttpClientOptions client_options) : options(std::move(client_options)) {}

  // One call on our own loop; the loop may keep a name lookup that was given up, hence no run().
  base::Result<HttpReply> perform(HttpCall call, std::string last_event_id, OnEvent on_event) {
    std::optional<base::Result<HttpReply>> result;
    loop.restart();
    spawn(loop.get_executor(),
          answer(std::move(call), std::move(last_event_id), std::move(on_event), &result));
    while (!result && loop.run_one() > 0) {
    }
    if (!result) return base::Error(base::ErrorCode::internal, "the request ended without a result");
    if (!*result) drop();
    return std::move(*result);
  }

  Task<> answer(HttpCall call, std::string last_event_id, OnEvent on_event,
                std::optional<base::Result<HttpReply>>* result) {
    *result = co_await exchange(std::move(call), std::move(last_event_id), std::move(on_event));
  }

  Task<base::Result<HttpReply>> exchange(HttpCall call, std::string last_event_id, OnEvent on_event) {
    auto request = format_request(call, last_event_id, on_event != nullptr);
    if (!request) co_return std::move(request).error();
    const bool reused = usable();
    auto connected = co_await ensure_connected();
    if (!connected) co_return std::move(connected).error();
    auto reply = co_await ask(*request, call.method == "HEAD", on_event);
    if (reply || !reused || started || !is_safe(call.method)) co_return reply;
    // The server closed the kept connection just when we used it.
    drop();
    connected = co_await ensure_connected();
    if (!connected) co_return std::move(connected).error();
    co_return co_await ask(*request, call.method == "HEAD", on_event);
  }

  base::Result<std::string> format_request(const HttpCall& call, const std::string& last_event_id,
                                           bool events) const {
    const bool printable =
        std::ranges::all_of(call.method + call.target, [](char c) { return c > ' ' && c < 0x7f; });
    if (call.method.empty() || !call.target.starts_with('/') || !printable)
      return base::Error(base::ErrorCode::invalid, "\"" + call.target + "\" is not a path to request");
    std::string text = call.method + " " + call.target + " HTTP/1.1\r\n";
    Headers headers = {{"Host", options.server.host_header()}, {"User-Agent", options.user_agent}};
    if (events) headers.push_back({"Accept", "text/event-stream"});
    if (!last_event_id.empty()) headers.push_back({"Last-Event-ID", last_event_id});
    if (!call.body.empty() || (call.method != "GET" && call.method != "HEAD"))
      headers.push_back({"Content-Length", std::to_string(call.body.size())});
    headers.insert(headers.end(), options.headers.begin(), options.headers.end());
    headers.insert(headers.end(), call.headers.begin(), call.headers.end());
    for (const Header& header : headers)
      if (!append_header(text, header.name, header.value))
        return base::Error(base::ErrorCode::invalid, "the header " + header.name + " cannot be sent");
    return text.append("\r\n").append(call.body);
  }

  // A kept connection on which the server has neither said anything nor hung up.
  bool usable() {
    if (!socket) return false;
    char byte = 0;
    const auto got = ::recv(socket->tcp_socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN && buffer.size() == 0 && !socket->has_pending()) return true;
    drop();
    return false;
  }

  void drop() {
    if (socket) socket->say_close();
    socket.reset();
    buffer.clear();
  }

  Task<base::Result<void>> ensure_connected() {
    if (socket) co_return base::Result<void>();
    ConnectOptions way{.uri = options.server,
                       .proxy = options.proxy,
                       .resolve_timeout = options.resolve_timeout,
                       .connect_timeout = options.connect_timeout,
                       .answer_timeout = options.connect_timeout,
                       .tls_timeout = options.tls_timeout,
                       .tls = options.tls};
    auto connected = co_await connect(std::move(way));
    if (!connected) co_return std::move(connected).error();
    socket.emplace(std::move(*connected));
    if (socket->secure()) server_key_hash = key_hash(::SSL_get0_peer_certificate(socket->ssl()));
    co_return base::Result<void>();
  }

  // Sends the request and reads the reply. `started`: a part of the reply has come.
  Task<base::Result<HttpReply>> ask(std::string request, bool head_only, OnEvent on_event) {
    started = false;
    Deadline deadline(socket->get_executor(), options.answer_timeout, [this] { close_socket(); });
    auto [write_error, written] = co_await asio::async_write(*socket, asio::buffer(request), kAsTuple);
    // A server that refuses a large body answers and closes before it has all of it: look for its answer.
    const ErrorCode sending = write_error;

    Parser parser;
    ErrorCode error = co_await read_header(parser, head_only);
    if (error && sending) error = sending;
    if (error) co_return describe(error, deadline.expired());
    const bool streams = on_event != nullptr && parser.get().result_int() == 200;
    if (streams) {
      deadline.cancel();
      co_return co_await read_events(parser, std::move(on_event));
    }
    if (!parser.is_done()) {
      auto [read_error, count] = co_await http::async_read(*socket, buffer, parser, kAsTuple);
      if (read_error) co_return describe(read_error, deadline.expired());
    }
    if (!parser.get().keep_alive() || sending) drop();
    co_return to_reply(parser);
  }

  Task<ErrorCode> read_header(Parser& parser, bool head_only) {
    parser.header_limit(kMaxHeader);
    parser.body_limit(options.max_body);
    parser.skip(head_only);
    buffer.max_size(std::max<std::size_t>(kMaxHeader, kReadBuffer));
    auto [error, count] = co_await http::async_read_header(*socket, buffer, parser, kAsTuple);
    started = parser.got_some();
    co_return error;
  }

  Task<base::Result<HttpReply>> read_events(Parser& parser, OnEvent on_event) {
    parser.body_limit(boost::none);
    EventParser events(options.max_event);
    bool silent = false;
    while (!parser.is_done()) {
      const Deadline deadline(socket->get_executor(), options.stream_idle_timeout,
                              [this] { close_socket(); });
      auto [error, count] = co_await http::async_read_some(*socket, buffer, parser, kAsTuple);
      silent = deadline.expired();
      if (silent) break;
      if (error) co_return describe(error, false);
      std::string& body = parser.get().body();
      const auto outcome = events.feed(body, on_event);
      body.clear();
      if (outcome == EventParser::Outcome::too_large)
        co_return base::Error(base::ErrorCode::limit, "the server sent an event that is larger than allowed");
      if (outcome == EventParser::Outcome::stopped) break;
    }
    if (silent)
      co_return base::Error(base::ErrorCode::timed_out,
                            options.server.authority() + " has gone silent: is the network up?");
    drop();
    co_return to_reply(parser);
  }

  base::Error describe(const ErrorCode& error, bool expired) const {
    const std::string server = options.server.authority();
    if (expired) return {base::ErrorCode::timed_out, server + " did not answer in time"};
    if (error == http::error::body_limit)
      return {base::ErrorCode::limit, server + " sent a reply that is larger than allowed"};
    if (error == http::error::end_of_stream || error == http::error::partial_message)
      return {base::ErrorCode::io, server + " hung up before its answer was complete"};
    if (error.category() == ErrorCode(http::error::body_limit).category())
      return {base::ErrorCode::invalid, server + " does not speak HTTP: " + error.message()};
    return to_error(error, "talking to " + server);
  }

  void close_socket() {
    ErrorCode ignored;
    if (socket) socket->close(ignored);
  }

  const HttpClientOptions options;
  Loop loop{1};
  std::optional<Stream> socket;
  beast::flat_buffer buffer;
  bool started = false;
  std::string server_key_hash;
};

HttpClient::HttpClient(HttpClientOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

HttpClient::~HttpClient() = default;

base::Result<HttpReply> HttpClient::request(HttpCall call) {
  return impl_->perform(std::move(call), {}, nullptr);
}

base::Result<HttpReply> HttpClient::stream(HttpCall call, std::string last_event_id, OnEvent on_event) {
  return impl_->perform(std::move(call), std::move(last_event_id), std::move(on_event));
}

const std::string& HttpClient::server_key_hash() const {
  return impl_->server_key_hash;
}

bool unreachable(const base::Error& error) {
  return error.code() == base::ErrorCode::io || error.code() == base::ErrorCode::timed_out ||
         error.code() == base::ErrorCode::not_found;
}

}  // namespace transport
