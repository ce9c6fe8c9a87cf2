// One client of an HttpServer, until it leaves, misbehaves, or becomes a websocket.
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <exception>
#include <optional>

#include "base/text.hpp"
#include "base/values/json_text.hpp"
#include "transport/http_text.hpp"
#include "transport/server/goodbye.hpp"
#include "transport/server/head_rules.hpp"
#include "transport/server/server_state.hpp"
#include "transport/tls/tls_context.hpp"
#include "transport/tokens.hpp"
#include "transport/web_socket/upgrade.hpp"

namespace transport {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

using RequestParser = http::request_parser<http::string_body>;

// So much is written before the deadline starts anew: a large response to a slow but live client takes its
// time.
constexpr std::size_t kWritePiece = 256 * 1024;
constexpr std::size_t kRequestBuffer = 64 * 1024;
// A head is read in pieces of at least this size.
constexpr std::size_t kHeadPiece = 512;
// Of a file that is sent: each has one in memory, and a client that takes fewer in write_deadline is cut off.
constexpr std::size_t kFilePiece = 64 * 1024;

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

// What the server itself refuses reads as what its handlers refuse (RFC 9457).
HttpResponse problem_response(unsigned status, std::string_view detail) {
  base::JsonText json;
  json.begin_object().member("type", "about:blank").member("title", reason_phrase(status));
  json.member("status", status).member("detail", detail).end_object();
  return {.status = status, .headers = {{"Content-Type", "application/problem+json"}}, .body = json.take()};
}

unsigned status_for(const ErrorCode& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::body_limit) return 413;
  return 400;
}

Task<> serve_web_socket(CountedConnection counted, const UpgradeRoute* route, Stream stream, BeastRequest raw,
                        HttpRequest request, std::shared_ptr<AddressPlace> place) {
  const HttpServerOptions& options = counted.server().options;
  auto accepted = co_await accept_upgrade(std::move(stream), std::move(raw), options.web_socket);
  if (!accepted || place->has_ended()) co_return;
  const std::weak_ptr<WebSocket> web_socket = *accepted;
  place->set_end([web_socket] {
    if (const auto still_open = web_socket.lock()) still_open->abort();
  });
  place->waits(options.patience);
  place.reset();  // the request's is the handler's to let go of
  try {
    co_await route->handler(std::move(request), std::move(*accepted));
  } catch (const std::exception&) {
    // A defect of ours costs this connection, not the others.
    if (const auto still_open = web_socket.lock()) still_open->abort();
  }
}

class HttpSession final : public HttpConnection, public EventSink {
 public:
  HttpSession(std::shared_ptr<ServerState> server, tcp::socket socket, std::shared_ptr<AddressPlace> place)
      : counted_(server),
        server_(*server),
        place_(std::move(place)),
        socket_(std::move(socket)),
        peer_(peer_name(socket_)) {
    buffer_.max_size(std::max(server_.options.max_header, kRequestBuffer));
    server_.http.emplace(place_->id(), this);
    place_->set_end([this] { abort(); });
  }
  HttpSession(const HttpSession&) = delete;
  HttpSession& operator=(const HttpSession&) = delete;
  ~HttpSession() override {
    server_.http.erase(place_->id());
    server_.handshakes.leave(place_->id());
    if (!upgraded_) place_->set_end({});
  }

  Task<> run() {
    if (place_->has_ended()) co_return;
    const bool ready = co_await begin();
    for (bool first = true; ready; first = false) {
      if (!first && buffer_.size() == 0) {
        const bool arrived = co_await wait_for_request();
        if (!arrived) break;
      }
      const bool another = co_await serve_request();
      if (!another || server_.stopping) break;
    }
    co_await leave();
  }

  void stop() override {
    if (idle_) abort();
    end_stream();
  }
  void abort() override {
    ErrorCode ignored;
    socket_.close(ignored);
    end_stream();
    if (turn_wake_) turn_wake_->notify();
  }
  void begin_handshake() override {
    has_turn_ = true;
    if (turn_wake_) turn_wake_->notify();
  }

  Task<base::Result<void>> send(std::string chunk) override {
    if (chunk.empty()) co_return base::Result<void>();
    if (ended_)
      co_return base::Error(base::ErrorCode::cancelled, "the client has gone or the server is stopping");
    if (chunked_) chunk = format_chunk(chunk);
    auto sent = co_await write(std::move(chunk));
    if (!sent) end_stream();
    co_return sent;
  }
  bool ended() const override { return ended_; }
  void on_end(std::function<void()> wake) override { wake_ = std::move(wake); }

 private:
  // With TLS: the handshake. False when the client did not get through.
  Task<bool> begin() {
    if (!server_.options.tls) co_return true;
    idle_ = true;
    ErrorCode error = co_await first_byte();
    const bool plain = !error && speaks_http();
    if (!error && !plain) error = co_await secure();
    idle_ = false;
    if (plain) {
      HttpResponse advice = problem_response(400, "this port speaks TLS: use https:// or wss://");
      co_await send_response(std::move(advice), false);
    }
    co_return !plain && !error && !server_.stopping;
  }

  // Until it comes the client costs a descriptor and little else.
  Task<ErrorCode> first_byte() {
    const Deadline deadline(socket_.get_executor(), server_.options.tls_deadline, [this] { abort(); });
    auto [error] = co_await socket_.tcp_socket().async_wait(tcp::socket::wait_read, kAsTuple);
    co_return error;
  }

  Task<ErrorCode> secure() {
    const bool may_begin = co_await wait_for_turn();
    if (!may_begin) co_return ErrorCode(asio::error::operation_aborted);
    place_->is_busy();
    const Deadline deadline(socket_.get_executor(), server_.options.tls_deadline, [this] { abort(); });
    const ErrorCode error = co_await secure_as_server(socket_, *server_.options.tls, certificate_);
    server_.handshakes.leave(place_->id());
    server_.decide_handshakes();
    co_return error;
  }

  // Not the client's fault, so it may take longer than its own part.
  Task<bool> wait_for_turn() {
    place_->waits(server_.options.tls_deadline);
    Wake wake(socket_.get_executor());
    turn_wake_ = &wake;
    const bool is_known = server_.known.has(place_->address(), ServerState::Clock::now());
    server_.handshakes.ask(place_->id(), place_->address(), is_known);
    server_.decide_handshakes();
    while (!has_turn_ && socket_.is_open())
      co_await wake.wait();
    turn_wake_ = nullptr;
    if (!socket_.is_open()) server_.handshakes.leave(place_->id());
    const bool may_begin = has_turn_ && socket_.is_open();
    co_return may_begin;
  }

  // A TLS client's first byte is no letter, a method's is.
  bool speaks_http() {
    char first = 0;
    const auto got = ::recv(socket_.tcp_socket().native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 1 && first >= 'A' && first <= 'Z';
  }

  // Between two requests. False when the client has left or had its time.
  Task<bool> wait_for_request() {
    if (socket_.has_pending()) co_return true;
    idle_ = true;
    place_->waits(std::chrono::milliseconds(0));
    const Deadline deadline(socket_.get_executor(), server_.options.idle_timeout, [this] { abort(); });
    auto [error] = co_await socket_.tcp_socket().async_wait(tcp::socket::wait_read, kAsTuple);
    idle_ = false;
    co_return !error && !server_.stopping;
  }

  // Reads and answers one. False when it was the connection's last.
  Task<bool> serve_request() {
    RequestParser parser;
    head_only_ = false;
    // Beast's limits are in 32 bits.
    parser.header_limit(static_cast<std::uint32_t>(server_.options.max_header));
    parser.body_limit(boost::none);  // known when we know whose it is
    place_->waits(server_.options.patience);
    const HeadProblem refused = co_await read_head(parser);
    if (refused.status == kGone) co_return false;
    if (refused.status != 0) co_return co_await refuse(refused);

    HttpRequest request;
    if (!describe(parser.get(), request)) co_return co_await refuse({400, "the target is malformed"});
    const bool keep_alive = parser.get().keep_alive();
    modern_ = parser.get().version() >= 11;
    head_only_ = request.method == "HEAD";
    if (has_token(request.header("Upgrade"), "websocket"))
      if (const UpgradeRoute* route = find_route(request.path)) {
        co_return co_await upgrade(route, parser, std::move(request));
      }
    if (!limit_body(parser, request)) co_return co_await refuse_large(std::move(request));
    const unsigned bad_body = co_await read_body(parser);
    if (bad_body == kGone) co_return false;
    if (bad_body == kTooLarge) co_return co_await refuse_large(std::move(request));
    if (bad_body != 0) co_return co_await refuse({bad_body, {}});
    request.body = std::move(parser.get().body());
    place_->is_busy();

    HttpResponse response = co_await handle(std::move(request), server_.handler);
    if (response.stream) co_return co_await send_stream(std::move(response));
    if (response.file) co_return co_await send_file(std::move(response), keep_alive && !server_.stopping);
    co_return co_await send_response(std::move(response), keep_alive && !server_.stopping);
  }

  // False when the client has announced more than it may send.
  bool limit_body(RequestParser& parser, HttpRequest& request) const {
    std::size_t most = server_.options.max_body;
    if (server_.options.body_limit) most = std::min(server_.options.body_limit(request), most);
    parser.body_limit(most);  // for those who announce nothing
    return parser.content_length().value_or(0) <= most;
  }

  static constexpr unsigned kGone = 1;  // instead of a status: nobody is there to answer
  static constexpr unsigned kTooLarge = 413;

  // Status 0, or why not. Beast gets a head only when it is whole and has one reading.
  Task<HeadProblem> read_head(RequestParser& parser) {
    const Deadline deadline(socket_.get_executor(), server_.options.header_deadline, [this] { cancel(); });
    HeadScan scan;
    for (bool may_skip = true;;) {
      const auto arrived = buffer_.cdata();
      const std::string_view text(static_cast<const char*>(arrived.data()), arrived.size());
      if (may_skip && text.starts_with("\r\n")) {
        // One blank line before a request is overlooked (RFC 9112, 2.2).
        buffer_.consume(2);
        may_skip = false;
        scan = {};
        continue;
      }
      const HeadScan::Outcome outcome = scan.feed(text.substr(0, server_.options.max_header));
      if (outcome == HeadScan::Outcome::malformed)
        co_return HeadProblem{400, "lines end with CR LF, and there are no control characters"};
      if (outcome == HeadScan::Outcome::whole) co_return take_head(parser, text.substr(0, scan.size()));
      if (text.size() >= server_.options.max_header) co_return HeadProblem{431, {}};
      const std::size_t room = std::max(kHeadPiece, buffer_.capacity() - buffer_.size());
      const auto into = buffer_.prepare(std::min(room, buffer_.max_size() - buffer_.size()));
      auto [error, count] = co_await socket_.async_read_some(into, kAsTuple);
      buffer_.commit(count);
      if (deadline.expired()) co_return HeadProblem{buffer_.size() > 0 ? 408 : kGone, {}};
      if (error) co_return HeadProblem{kGone, {}};
    }
  }

  HeadProblem take_head(RequestParser& parser, std::string_view head) {
    if (const auto problem = problem_with_head(head)) return *problem;
    ErrorCode error;
    const std::size_t taken = parser.put(asio::buffer(head), error);
    if (error || taken != head.size() || !parser.is_header_done())
      return {error ? status_for(error) : 400, "the head of the request is malformed"};
    buffer_.consume(taken);
    return {};
  }

  Task<unsigned> read_body(RequestParser& parser) {
    if (parser.is_done()) co_return 0;
    const bool is_expected =
        base::equal_ignoring_case(view(parser.get()[http::field::expect]), "100-continue");
    if (is_expected && modern_ && buffer_.size() == 0) {
      auto sent = co_await write("HTTP/1.1 100 Continue\r\n\r\n");
      if (!sent) co_return kGone;
    }
    auto check = [](std::uint64_t, beast::string_view extension, ErrorCode& error) {
      if (!is_good_chunk_extension(view(extension))) error = http::error::bad_chunk_extension;
    };
    parser.on_chunk_header(check);
    const Deadline deadline(socket_.get_executor(), server_.options.body_deadline, [this] { cancel(); });
    auto [error, size] = co_await http::async_read(socket_, buffer_, parser, kAsTuple);
    if (deadline.expired()) co_return 408;
    co_return outcome(error);
  }

  static unsigned outcome(const ErrorCode& error) {
    if (!error) return 0;
    const bool http_error = error.category() == ErrorCode(http::error::body_limit).category();
    return http_error && error != http::error::end_of_stream && error != http::error::partial_message
               ? status_for(error)
               : kGone;
  }

  bool describe(const RequestParser::value_type& message, HttpRequest& request) const {
    request.method = view(message.method_string());
    request.peer = peer_;
    request.secure = socket_.secure();
    request.certificate = certificate_;
    request.place = place_;
    for (const auto& field : message)
      request.headers.push_back({std::string(view(field.name_string())), std::string(view(field.value()))});
    return split_target(view(message.target()), request);
  }

  const UpgradeRoute* find_route(std::string_view path) const {
    for (const UpgradeRoute& route : server_.upgrades)
      if (route.path == path) return &route;
    return nullptr;
  }

  // The socket leaves for a coroutine of its own, so that what HTTP needed is freed.
  Task<bool> upgrade(const UpgradeRoute* route, RequestParser& parser, HttpRequest request) {
    if (server_.stopping) co_return co_await refuse({503, {}});
    if (!parser.is_done() || buffer_.size() > 0)
      co_return co_await refuse({400, "a websocket begins with our answer"});
    if (route->refuse) {
      if (auto refusal = route->refuse(request)) co_return co_await send_response(std::move(*refusal), false);
    }
    const auto executor = socket_.get_executor();
    CountedConnection counted(counted_);
    upgraded_ = true;
    place_->is_busy();
    place_->set_end({});
    spawn(executor, serve_web_socket(std::move(counted), route, std::move(socket_), parser.release(),
                                     std::move(request), place_));
    co_return false;
  }

  Task<HttpResponse> handle(HttpRequest request, const HttpHandler& handler) {
    try {
      co_return co_await handler(std::move(request));
    } catch (const std::exception&) {
      // Handlers answer errors; an exception is a defect of ours, and the client's answer is the same.
    }
    co_return problem_response(500, "internal error");
  }

  Task<bool> refuse(HeadProblem problem) {
    const std::string_view words = problem.words.empty() ? reason_phrase(problem.status) : problem.words;
    HttpResponse response = problem_response(problem.status, words);
    co_return co_await send_response(std::move(response), false);
  }

  Task<bool> refuse_large(HttpRequest request) {
    if (!server_.options.too_large) co_return co_await refuse({kTooLarge, {}});
    HttpResponse response = co_await handle(std::move(request), server_.options.too_large);
    co_return co_await send_response(std::move(response), false);
  }

  Task<bool> send_response(HttpResponse response, bool keep_alive) {
    std::string text = format_head({.status = response.status,
                                    .server_name = server_.options.server_name,
                                    .keep_alive = keep_alive,
                                    .body_size = response.body.size()},
                                   response.headers);
    // One packet for small ones; large bodies are not copied.
    const bool body =
        !head_only_ && response.status >= 200 && response.status != 204 && response.status != 304;
    if (body && response.body.size() <= kRequestBuffer) text += response.body;
    auto sent = co_await write(std::move(text));
    if (sent && body && response.body.size() > kRequestBuffer)
      sent = co_await write(std::move(response.body));
    co_return static_cast<bool>(sent) && keep_alive;
  }

  // Holds one piece of the file at a time, however large it is and however slowly the client reads.
  Task<bool> send_file(HttpResponse response, bool keep_alive) {
    const auto file = std::move(response.file);
    std::string head = format_head({.status = response.status,
                                    .server_name = server_.options.server_name,
                                    .keep_alive = keep_alive,
                                    .body_size = file->size},
                                   response.headers);
    auto sent = co_await write(std::move(head));
    if (head_only_) co_return static_cast<bool>(sent) && keep_alive;
    for (std::uint64_t done = 0; sent && done < file->size;) {
      std::string piece(std::min<std::uint64_t>(kFilePiece, file->size - done), 0);
      const ssize_t got =
          ::pread(file->fd.get(), piece.data(), piece.size(), static_cast<off_t>(file->first + done));
      // Shortened or unreadable meanwhile: the client must not take this for the end.
      if (got <= 0) abort();
      if (got <= 0) co_return false;
      piece.resize(static_cast<std::size_t>(got));
      done += static_cast<std::uint64_t>(got);
      sent = co_await write(std::move(piece));
      if (sent && file->sent) file->sent(static_cast<std::size_t>(got));
    }
    co_return static_cast<bool>(sent) && keep_alive;
  }

  // The connection ends with the stream: what a client sent meanwhile need not be untangled.
  Task<bool> send_stream(HttpResponse response) {
    chunked_ = modern_;
    ended_ = server_.stopping;
    std::string head = format_head({.status = response.status,
                                    .server_name = server_.options.server_name,
                                    .keep_alive = false,
                                    .chunked = chunked_,
                                    .until_close = !chunked_},
                                   response.headers);
    auto sent = co_await write(std::move(head));
    if (!sent || head_only_) co_return false;
    const auto watching = std::make_shared<bool>(true);
    watch_client(watching);
    try {
      co_await response.stream(*this);
    } catch (const std::exception&) {
      gone_ = true;  // a stream without an end tells the client
    }
    *watching = false;
    wake_ = nullptr;
    cancel();
    if (chunked_ && !gone_ && socket_.is_open()) sent = co_await write(format_chunk({}));
    co_return false;
  }

  // Notices a client that leaves while there is nothing to send.
  void watch_client(const std::shared_ptr<bool>& watching) {
    socket_.async_read_some(asio::buffer(&ignored_, 1),
                            [this, watching](const ErrorCode& error, std::size_t) {
                              if (!*watching || !error) return;  // it says something, and nobody reads on
                              gone_ = true;
                              end_stream();
                            });
  }

  void end_stream() {
    ended_ = true;
    if (const auto wake = std::exchange(wake_, nullptr)) wake();
  }

  Task<base::Result<void>> write(std::string text) {
    for (std::size_t at = 0; at < text.size(); at += kWritePiece) {
      const Deadline deadline(socket_.get_executor(), server_.options.write_deadline, [this] { abort(); });
      const std::size_t size = std::min(kWritePiece, text.size() - at);
      auto [error, count] =
          co_await asio::async_write(socket_, asio::buffer(text.data() + at, size), kAsTuple);
      if (deadline.expired())
        co_return base::Error(base::ErrorCode::timed_out, "the client does not read: writing timed out");
      if (error) {
        gone_ = true;
        co_return to_error(error, "writing to the client");
      }
    }
    co_return base::Result<void>();
  }

  Task<> leave() {
    if (!socket_.is_open() || gone_) co_return;
    idle_ = true;
    place_->waits(std::chrono::milliseconds(0));
    co_await say_goodbye(socket_, server_.stopping);
  }

  void cancel() {
    ErrorCode ignored;
    socket_.cancel(ignored);
  }

  CountedConnection counted_;
  ServerState& server_;
  const std::shared_ptr<AddressPlace> place_;
  Wake* turn_wake_ = nullptr;  // while it waits for its turn
  bool has_turn_ = false;
  bool upgraded_ = false;
  Stream socket_;
  const std::string peer_;
  std::shared_ptr<const PeerCertificate> certificate_;
  beast::flat_buffer buffer_;
  bool idle_ = false;       // between requests
  bool gone_ = false;       // the client has left
  bool modern_ = true;      // HTTP/1.1
  bool head_only_ = false;  // the request was a HEAD
  bool chunked_ = false;
  bool ended_ = false;  // of a stream
  std::function<void()> wake_;
  char ignored_ = 0;
};

}  // namespace

Task<> serve_http(std::shared_ptr<ServerState> server, tcp::socket socket,
                  std::shared_ptr<AddressPlace> place) {
  const auto session = std::make_unique<HttpSession>(std::move(server), std::move(socket), std::move(place));
  co_await session->run();
}

}  // namespace transport
