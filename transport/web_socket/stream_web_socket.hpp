// Inside transport/: the WebSocket over Beast's, on a Stream.
//
// Ten thousand of these share a process, so an idle one holds little: no compression, no write buffer on the
// server's side, and a small read buffer that grows with what has really arrived. Files that include this
// take half a minute to compile.
#pragma once

#include <algorithm>
#include <boost/beast/core/error.hpp>
#include <boost/beast/websocket/error.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <memory>
#include <string>
#include <utility>

#include "transport/tls/stream.hpp"
#include "transport/tokens.hpp"
#include "transport/web_socket/web_socket.hpp"

namespace transport {

namespace beast = boost::beast;
namespace websocket = boost::beast::websocket;

// How the end of a connection is told to those who read and write.
base::Error describe_end(const ErrorCode& error, const websocket::close_reason& reason);

class StreamWebSocket final : public WebSocket, public std::enable_shared_from_this<StreamWebSocket> {
 public:
  using Beast = websocket::stream<Stream, false>;

  StreamWebSocket(Beast stream, WebSocketOptions options, std::string peer)
      : stream_(std::move(stream)),
        timer_(stream_.get_executor()),
        options_(options),
        peer_(std::move(peer)) {
    stream_.read_message_max(options.max_message);
    stream_.auto_fragment(false);
    stream_.control_callback([this](websocket::frame_type type, beast::string_view) {
      heard_ = true;
      if (type != websocket::frame_type::close || end_ != End::none) return;
      goodbye_ = true;
      start_timer(options_.close_deadline);
    });
  }

  // Needs shared_from_this(), hence not in the constructor.
  void start() { set_heartbeat(options_.heartbeat); }

  Task<base::Result<std::string>> read() override {
    const auto self = shared_from_this();
    if (end_ != End::none) co_return ended();
    std::string message;
    std::size_t size = 0;
    reading_ = true;
    do {
      // The peer's word for the length of a frame is believed no further than twice what has arrived.
      const std::size_t most = size == 0 ? kFirstRead : std::max(size, kLaterRead);
      message.resize(size + std::clamp(stream_.read_size_hint(kFirstRead), std::size_t{1}, most));
      auto [error, count] = co_await stream_.async_read_some(
          asio::buffer(message.data() + size, message.size() - size), kAsTuple);
      if (error) {
        reading_ = false;
        co_return fail(error);
      }
      heard_ = true;
      size += count;
      if (!stream_.got_text()) {
        reading_ = false;
        co_await close(close_code::kNotText, "text messages only");
        co_return base::Error(base::ErrorCode::invalid, "the peer sent a binary message");
      }
    } while (!stream_.is_message_done());
    reading_ = false;
    message.resize(size);
    co_return message;
  }

  Task<base::Result<void>> write(Text text) override {
    const auto self = shared_from_this();
    if (end_ != End::none) co_return ended();
    const Deadline deadline(stream_.get_executor(), options_.write_deadline, [this] { stop(End::stalled); });
    auto [error, count] = co_await stream_.async_write(asio::buffer(*text), kAsTuple);
    if (error) co_return fail(error);
    co_return base::Result<void>();
  }

  Task<> close(unsigned code, std::string reason) override {
    const auto self = shared_from_this();
    if (end_ != End::none) co_return;
    end_ = End::closed;
    timer_.cancel();
    // Not within a character: a peer must refuse a reason that is not UTF-8, and would not hear the code.
    std::size_t end = std::min(reason.size(), kMaxReason);
    while (end > 0 && end < reason.size() && (static_cast<unsigned char>(reason[end]) & 0xc0) == 0x80)
      --end;
    reason.resize(end);
    const websocket::close_reason with(static_cast<websocket::close_code>(code), reason);
    const Deadline deadline(stream_.get_executor(), options_.close_deadline, [this] { disconnect(); });
    co_await stream_.async_close(with, kAsTuple);
    disconnect();
  }

  void abort() override { stop(End::aborted); }

  void set_max_message(std::size_t bytes) override { stream_.read_message_max(bytes); }

  void set_heartbeat(std::chrono::milliseconds every) override {
    options_.heartbeat = every;
    missed_ = 0;
    heard_ = true;
    if (end_ != End::none || goodbye_) return;
    timer_.cancel();
    if (every.count() > 0) start_timer(every);
  }

  unsigned peer_close_code() const override { return stream_.reason().code; }
  const std::string& peer() const override { return peer_; }
  asio::any_io_executor executor() override { return stream_.get_executor(); }

 private:
  // Most messages of a quiet connection fit the first; the later ones grow.
  static constexpr std::size_t kFirstRead = 128;
  static constexpr std::size_t kLaterRead = 4096;
  static constexpr std::size_t kMaxReason = 123;  // RFC 6455, 5.5
  static constexpr int kMissedHeartbeats = 2;

  // Why we ended the connection; the first reason stays.
  enum class End { none, closed, aborted, dead, stalled, broken };

  void disconnect() {
    ErrorCode ignored;
    stream_.next_layer().close(ignored);
  }

  void stop(End why) {
    if (end_ == End::none) end_ = why;
    timer_.cancel();
    disconnect();
  }

  void start_timer(std::chrono::milliseconds time) {
    timer_.expires_after(time);
    timer_.async_wait([weak = weak_from_this()](const ErrorCode& error) {
      if (const auto self = error ? nullptr : weak.lock()) self->tick();
    });
  }

  // Pongs are seen by a pending read only: while nobody reads, silence says nothing about the peer.
  void tick() {
    if (end_ != End::none) return;
    if (goodbye_) return stop(End::dead);
    if (heard_ || !reading_)
      missed_ = 0;
    else if (++missed_ >= kMissedHeartbeats)
      return stop(End::dead);
    heard_ = false;
    if (!pinging_) {
      pinging_ = true;
      stream_.async_ping({}, [weak = weak_from_this()](const ErrorCode&) {
        if (const auto self = weak.lock()) self->pinging_ = false;
      });
    }
    start_timer(options_.heartbeat);
  }

  base::Error fail(const ErrorCode& error) {
    if (end_ != End::none) return ended();
    stop(End::broken);
    return describe_end(error, stream_.reason());
  }

  base::Error ended() const {
    switch (end_) {
      case End::dead:
        return {base::ErrorCode::timed_out, "the peer is dead: it did not answer heartbeats"};
      case End::stalled:
        return {base::ErrorCode::timed_out, "the peer does not read: writing timed out"};
      case End::broken:
        return {base::ErrorCode::io, "the connection has ended"};
      default:
        return {base::ErrorCode::cancelled, "the connection was closed by this side"};
    }
  }

  Beast stream_;
  asio::steady_timer timer_;  // the next heartbeat; once the peer has said goodbye, the end
  WebSocketOptions options_;
  const std::string peer_;
  End end_ = End::none;
  int missed_ = 0;
  bool heard_ = true;
  bool reading_ = false;
  bool pinging_ = false;
  bool goodbye_ = false;  // the peer has sent its close frame
};

}  // namespace transport
