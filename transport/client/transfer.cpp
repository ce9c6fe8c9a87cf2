#include "transport/client/transfer.hpp"

#include <array>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <charconv>
#include <limits>
#include <optional>
#include <vector>

#include "base/text.hpp"
#include "transport/client/connect.hpp"
#include "transport/http_text.hpp"
#include "transport/tokens.hpp"

namespace transport {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using PieceParser = http::response_parser<http::buffer_body>;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMaxTransferHeader = 64 * 1024;
constexpr std::size_t kTransferPiece = 64 * 1024;
// How often the caller's interrupt and the clocks are looked at.
constexpr std::chrono::milliseconds kTick(100);

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t total = 0;
};

// "bytes 5-9/10". An unknown total ("*") is no answer for us: we would not know when it is complete.
std::optional<ContentRange> parse_content_range(std::string_view text) {
  if (!text.starts_with("bytes ")) return std::nullopt;
  text.remove_prefix(6);
  ContentRange range;
  const auto number = [&text](std::uint64_t& into, char end) {
    const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(at - text.data()));
    if (end == 0) return text.empty();
    if (!text.starts_with(end)) return false;
    text.remove_prefix(1);
    return true;
  };
  if (!number(range.first, '-') || !number(range.last, '/') || !number(range.total, 0)) return std::nullopt;
  return range;
}

class Transfer {
 public:
  Transfer(const TransferRequest& request, const FetchOptions& options, BodySink& sink, TransferHead& head)
      : request_(request), options_(options), sink_(sink), head_(head), where_(request.uri.text()) {}

  base::Result<TransferEnd> run() {
    const auto end = Clock::now() + options_.deadline;
    spawn(loop_.get_executor(), perform());
    while (!result_) {
      if (options_.interrupt && options_.interrupt->requested())
        return base::Error(base::ErrorCode::cancelled, "fetching " + where_ + " was interrupted");
      if (Clock::now() >= end)
        return base::Error(base::ErrorCode::timed_out, "fetching " + where_ + " took longer than " +
                                                           std::to_string(seconds(options_.deadline)) + " s");
      if (too_slow()) return slow_error();
      if (loop_.run_one_for(kTick) == 0 && loop_.stopped())
        return base::Error(base::ErrorCode::internal, "the transfer ended without a result");
    }
    return std::move(*result_);
  }

 private:
  static std::int64_t seconds(std::chrono::milliseconds time) {
    return std::chrono::ceil<std::chrono::seconds>(time).count();
  }

  // From the moment that the request is on its way: connecting has deadlines of its own.
  bool too_slow() {
    if (!window_began_ || Clock::now() - *window_began_ < options_.rate_window) return false;
    const auto wanted = options_.min_rate * static_cast<std::uint64_t>(options_.rate_window.count()) / 1000;
    if (received_ - window_received_ < wanted) return true;
    window_began_ = Clock::now();
    window_received_ = received_;
    return false;
  }
  base::Error slow_error() const {
    return {base::ErrorCode::timed_out, where_ + " sent " + std::to_string(received_ - window_received_) +
                                            " bytes in " + std::to_string(seconds(options_.rate_window)) +
                                            " s: that is too slow"};
  }

  Task<> perform() { result_ = co_await exchange(); }

  Task<base::Result<TransferEnd>> exchange() {
    ConnectOptions way{.uri = request_.uri,
                       .proxy = options_.proxies.proxy_for(request_.uri),
                       .resolve_timeout = std::chrono::seconds(10),
                       .connect_timeout = std::chrono::seconds(5),
                       .answer_timeout = std::chrono::seconds(10),
                       .tls_timeout = std::chrono::seconds(30),
                       .tls = options_.tls,
                       .refuses_near = request_.refuses_near};
    const bool is_proxied = way.proxy.has_value();
    auto stream = co_await connect(std::move(way));
    if (!stream) co_return unreachable(std::move(stream).error());
    peer_is_near_ = is_proxied ? is_near(request_.uri.host) : is_near(peer_of(*stream));
    const auto question = format_request();
    if (!question) co_return question.error();
    window_began_ = Clock::now();
    auto [write_error, written] = co_await asio::async_write(*stream, asio::buffer(*question), kAsTuple);
    if (write_error) co_return describe(write_error);
    PieceParser parser;
    parser.header_limit(kMaxTransferHeader);
    // Counted here: the limit depends on the answer's head.
    parser.body_limit(boost::none);
    buffer_.max_size(kMaxTransferHeader + kTransferPiece);
    auto [error, count] = co_await http::async_read_header(*stream, buffer_, parser, kAsTuple);
    if (error) co_return describe(error);
    auto expected = check_head(parser);
    if (!expected) co_return std::move(expected).error();
    if (*expected != TransferEnd::complete) co_return *expected;
    auto read = co_await read_body(*stream, parser);
    stream->say_close();
    if (!read) co_return std::move(read).error();
    co_return TransferEnd::complete;
  }

  static std::string peer_of(const Stream& stream) {
    ErrorCode error;
    const auto peer = stream.tcp_socket().remote_endpoint(error);
    return error ? std::string() : peer.address().to_string();
  }

  base::Result<std::string> format_request() const {
    std::string text = "GET " + request_.uri.target + " HTTP/1.1\r\n";
    Headers headers = {{"Host", request_.uri.host_header()},
                       {"User-Agent", options_.user_agent},
                       {"Accept-Encoding", "identity"},
                       {"Connection", "close"}};
    if (request_.from > 0) headers.push_back({"Range", "bytes=" + std::to_string(request_.from) + "-"});
    headers.insert(headers.end(), request_.headers.begin(), request_.headers.end());
    for (const Header& header : headers)
      if (!append_header(text, header.name, header.value))
        return base::Error(base::ErrorCode::invalid, "the header " + header.name + " cannot be sent");
    return text + "\r\n";
  }

  // The sink knows where the body begins when this is `complete`; else there is no body.
  base::Result<TransferEnd> check_head(const PieceParser& parser) {
    const auto& head = parser.get();
    const unsigned status = head.result_int();
    head_ = {.status = status,
             .is_near = peer_is_near_,
             .location = std::string(view(head[http::field::location])),
             .etag = std::string(view(head[http::field::etag])),
             .last_modified = std::string(view(head[http::field::last_modified]))};
    if (status == 416 && request_.from > 0) return TransferEnd::no_such_range;
    if (status == 304 && has_conditions()) return TransferEnd::not_modified;
    if (is_redirect(status) && request_.reports_redirects) return TransferEnd::redirected;
    if (status != 200 && status != 206) return status_error(status, view(head[http::field::location]));
    const std::string_view encoding = base::trim(view(head[http::field::content_encoding]));
    if (!encoding.empty() && !base::equal_ignoring_case(encoding, "identity"))
      return lie("compresses what was asked for as it is (" + std::string(encoding) + ")");
    auto checked = status == 206 ? check_range(view(head[http::field::content_range])) : base::Result<void>();
    if (!checked) return std::move(checked).error();
    if (const auto length = parser.content_length()) {
      const std::uint64_t total = begin_ + *length;
      const bool overflow = *length > std::numeric_limits<std::uint64_t>::max() - begin_;
      if (overflow || total > request_.limit) return too_large();
      if ((request_.exact && total != request_.limit) || (whole_ && total != *whole_))
        return lie("announces " + std::to_string(total) + " bytes where " +
                   std::to_string(whole_.value_or(request_.limit)) + " were expected");
    }
    auto begun = sink_.begin(begin_);
    if (!begun) return std::move(begun).error();
    return TransferEnd::complete;
  }

  bool has_conditions() const {
    return !find_header(request_.headers, "If-None-Match").empty() ||
           !find_header(request_.headers, "If-Modified-Since").empty();
  }
  static bool is_redirect(unsigned status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  }

  base::Result<void> check_range(std::string_view text) {
    const auto range = parse_content_range(text);
    if (request_.from == 0) return lie("sends a part where the whole was asked for");
    if (!range)
      return lie("sends a part and does not say which (Content-Range: \"" + printable(text) + "\")");
    if (range->total > request_.limit) return too_large();
    const bool whole_rest =
        range->first == request_.from && range->total > range->first && range->last == range->total - 1;
    if (!whole_rest || (request_.exact && range->total != request_.limit))
      return lie("sends another part than was asked for: \"" + printable(text) +
                 "\" instead of the rest from " + std::to_string(request_.from) + " on");
    begin_ = range->first;
    whole_ = range->total;
    return {};
  }

  Task<base::Result<void>> read_body(Stream& stream, PieceParser& parser) {
    std::vector<char> piece(kTransferPiece);
    while (!parser.is_done()) {
      auto& body = parser.get().body();
      body.data = piece.data();
      body.size = piece.size();
      body.more = true;
      auto [error, count] = co_await http::async_read_some(stream, buffer_, parser, kAsTuple);
      const std::size_t got = piece.size() - parser.get().body().size;
      received_ += got;
      if (begin_ + received_ > request_.limit) co_return too_large();
      if (got > 0) {
        auto taken = sink_.take({piece.data(), got});
        if (!taken) co_return std::move(taken).error();
      }
      if (error && error != http::error::need_buffer) co_return describe(error);
    }
    const std::uint64_t total = begin_ + received_;
    if ((request_.exact && total != request_.limit) || (whole_ && total != *whole_))
      co_return lie("ended after " + std::to_string(total) + " bytes of " +
                    std::to_string(whole_.value_or(request_.limit)));
    co_return base::Result<void>();
  }

  static std::string printable(std::string_view text) {
    std::string result(text.substr(0, 100));
    for (char& c : result)
      if (c < ' ' || c > '~') c = '?';
    return result;
  }

  base::Error lie(const std::string& what) const {
    return {base::ErrorCode::invalid, where_ + ": the server " + what};
  }
  base::Error too_large() const {
    return {base::ErrorCode::limit,
            where_ + ": the server sends more than the " + std::to_string(request_.limit) + " bytes allowed"};
  }

  base::Error status_error(unsigned status, std::string_view location) const {
    const std::string said =
        where_ + ": the server answers " + std::to_string(status) + " " + std::string(reason_phrase(status));
    if (status >= 300 && status < 400)
      return {base::ErrorCode::invalid, said + " (to \"" + printable(location) +
                                            "\"): redirects are not followed, name the place itself"};
    if (status == 404 || status == 410) return {base::ErrorCode::not_found, said};
    if (status == 401 || status == 403 || status == 407) return {base::ErrorCode::permission, said};
    if (status == 408 || status == 429 || status >= 500) return {base::ErrorCode::io, said};
    return {base::ErrorCode::invalid, said};
  }

  // "Not found" is what a server says; a name that is not found may be there in a minute.
  static base::Error unreachable(base::Error error) {
    if (error.code() == base::ErrorCode::not_found) return {base::ErrorCode::io, error.message()};
    return error;
  }

  base::Error describe(const ErrorCode& error) const {
    if (error == http::error::end_of_stream || error == http::error::partial_message)
      return {base::ErrorCode::io, where_ + ": the server hung up before its answer was complete"};
    if (error.category() == ErrorCode(http::error::body_limit).category())
      return lie("does not speak HTTP: " + error.message());
    return to_error(error, "fetching " + where_);
  }

  const TransferRequest& request_;
  const FetchOptions& options_;
  BodySink& sink_;
  TransferHead& head_;
  const std::string where_;
  beast::flat_buffer buffer_;
  bool peer_is_near_ = false;
  std::uint64_t begin_ = 0;             // where the body belongs
  std::optional<std::uint64_t> whole_;  // the total that a Content-Range named
  std::uint64_t received_ = 0;
  std::optional<Clock::time_point> window_began_;
  std::uint64_t window_received_ = 0;
  std::optional<base::Result<TransferEnd>> result_;
  Loop loop_{1};  // last: a transfer that is given up is destroyed with it, and uses what is above
};

}  // namespace

base::Result<TransferEnd> transfer(const TransferRequest& request, const FetchOptions& options,
                                   BodySink& sink, TransferHead* head) {
  TransferHead unread;
  return Transfer(request, options, sink, head ? *head : unread).run();
}

}  // namespace transport
