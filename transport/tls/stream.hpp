// Inside transport/: Stream, the connection that HTTP and websockets are spoken on: a TCP socket, with TLS or
// without.
//
// One type for both, so that everything above is compiled once. Without TLS it is the socket and nothing
// else. With it OpenSSL works on the socket directly and holds no buffers while nothing is under way: ten
// thousand idle agents. Belongs to its socket's loop. One read and one write at a time, both may be under way
// together. It can be moved while neither is. A write that was cancelled leaves a secure stream unfit for
// another one.
#pragma once

#include <algorithm>
#include <array>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <memory>
#include <utility>

#include "transport/async.hpp"
#include "transport/tokens.hpp"

struct ssl_st;  // OpenSSL's SSL

namespace transport {

using asio::ip::tcp;

// The end of a read or write, whoever waits for it. Called once, on the loop, never from within the call that
// began it.
class IoDone {
 public:
  virtual ~IoDone() = default;
  virtual void finish(ErrorCode error, std::size_t count) = 0;
};

class Stream {
 public:
  using executor_type = tcp::socket::executor_type;

  explicit Stream(tcp::socket socket);
  Stream(Stream&& other) noexcept;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  Stream& operator=(Stream&&) = delete;
  ~Stream();

  executor_type get_executor() { return socket_.get_executor(); }
  tcp::socket& tcp_socket() { return socket_; }
  const tcp::socket& tcp_socket() const { return socket_; }
  bool is_open() const { return socket_.is_open(); }

  // At once, without a goodbye; what is under way ends with operation_aborted.
  void close(ErrorCode& error);
  // Ends what is under way with operation_aborted.
  void cancel(ErrorCode& error) { socket_.cancel(error); }

  // From now on this is TLS. Takes `ssl`, which knows its side (SSL_set_accept_state, SSL_set_connect_state).
  // Nothing may be read or written before it has returned success. Has no deadline: close the stream for
  // that.
  Task<ErrorCode> handshake(ssl_st* ssl);

  bool secure() const { return tls_ != nullptr; }
  // Null without TLS.
  ssl_st* ssl() const;
  // Something has been decrypted and not been read yet.
  bool has_pending() const;
  // Sends TLS's goodbye. False: the system does not take it yet, ask again when the socket is writable.
  bool say_close();

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(ErrorCode, std::size_t)>(
        [this](auto handler, const Buffers& into) {
          if (!tls_) return (void)socket_.async_read_some(into, std::move(handler));
          ReadBuffers list{};
          gather(asio::buffer_sequence_begin(into), asio::buffer_sequence_end(into), list);
          start_read(list, erase(std::move(handler)));
        },
        token, buffers);
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(ErrorCode, std::size_t)>(
        [this](auto handler, const Buffers& from) {
          if (!tls_) return (void)socket_.async_write_some(from, std::move(handler));
          WriteBuffers list{};
          gather(asio::buffer_sequence_begin(from), asio::buffer_sequence_end(from), list);
          start_write(list, erase(std::move(handler)));
        },
        token, buffers);
  }

 private:
  struct Tls;
  // More in one call are left for the next: reading and writing "some" may do that.
  using ReadBuffers = std::array<asio::mutable_buffer, 2>;
  using WriteBuffers = std::array<asio::const_buffer, 8>;

  template <class Iterator, class List>
  static void gather(Iterator at, Iterator end, List& list) {
    for (std::size_t count = 0; at != end && count < list.size(); ++at)
      if (typename List::value_type buffer(*at); buffer.size() > 0) list[count++] = buffer;
  }

  template <class Handler>
  class HandlerDone final : public IoDone {
   public:
    HandlerDone(Handler handler, executor_type executor)
        : handler_(std::move(handler)), executor_(std::move(executor)) {}
    void finish(ErrorCode error, std::size_t count) override {
      const auto executor = asio::get_associated_executor(handler_, executor_);
      asio::dispatch(executor, [handler = std::move(handler_), error, count]() mutable {
        std::move(handler)(error, count);
      });
    }

   private:
    Handler handler_;
    executor_type executor_;
  };
  template <class Handler>
  std::unique_ptr<IoDone> erase(Handler handler) {
    return std::make_unique<HandlerDone<Handler>>(std::move(handler), get_executor());
  }

  void start_read(const ReadBuffers& buffers, std::unique_ptr<IoDone> done);
  void start_write(const WriteBuffers& buffers, std::unique_ptr<IoDone> done);

  tcp::socket socket_;
  std::shared_ptr<Tls> tls_;
};

// "address:port" of the other side, an IPv4 address as such.
std::string peer_name(const Stream& stream);

// How Beast ends a stream below a websocket; found by argument-dependent lookup.
inline void beast_close_socket(Stream& stream) {
  ErrorCode ignored;
  stream.close(ignored);
}

template <class Handler>
void async_teardown(boost::beast::role_type role, Stream& stream, Handler&& handler) {
  // The close frames have been exchanged, so nothing is queued before it and the system takes it.
  stream.say_close();
  boost::beast::websocket::async_teardown(role, stream.tcp_socket(), std::forward<Handler>(handler));
}

}  // namespace transport
