#include "transport/tls/stream.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "transport/tls/tls_error.hpp"
#include "transport/uri.hpp"

namespace transport {
namespace {

// TLS's largest record. What is smaller is gathered, so that a frame's header does not become a record of its
// own.
constexpr std::size_t kRecord = 16 * 1024;
// A write encrypts no more in one go, for the sake of the loop's other connections.
constexpr std::size_t kMostWritten = 64 * 1024;

}  // namespace

// The TLS half. Shared with the handlers that wait for the socket, which may come after the stream is gone:
// then `owner` is null.
struct Stream::Tls : std::enable_shared_from_this<Stream::Tls> {
  enum class Outcome { done, want_read, want_write, failed };

  Tls(Stream& stream, SSL* taken) : ssl(taken), owner(&stream) {}
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;
  ~Tls() {
    // Otherwise OpenSSL spoils the session of a connection that was cut, which may well be resumed.
    ::SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    ::SSL_free(ssl);
  }

  int fd() const { return owner ? owner->socket_.native_handle() : -1; }

  // What the call that answered `result` means; `error` is set for `failed`.
  Outcome outcome(int result) {
    switch (::SSL_get_error(ssl, result)) {
      case SSL_ERROR_NONE:
        return Outcome::done;
      case SSL_ERROR_WANT_READ:
        return Outcome::want_read;
      case SSL_ERROR_WANT_WRITE:
        return Outcome::want_write;
      case SSL_ERROR_ZERO_RETURN:
        error = asio::error::eof;
        return Outcome::failed;
      default:
        break;
    }
    broken = true;
    if (ended)
      error = tls_error(kTlsTruncated);
    else if (system_error != 0)
      error = ErrorCode(system_error, boost::system::system_category());
    else
      error = last_tls_error();
    return Outcome::failed;
  }

  Outcome try_read() {
    read_count = 0;
    system_error = 0;
    if (read_into[0].size() == 0) return Outcome::done;
    for (const asio::mutable_buffer& buffer : read_into) {
      if (buffer.size() == 0) break;
      std::size_t count = 0;
      ::ERR_clear_error();
      const int result = ::SSL_read_ex(ssl, buffer.data(), buffer.size(), &count);
      if (result != 1) return read_count > 0 ? Outcome::done : outcome(result);
      read_count += count;
      if (count < buffer.size() || ::SSL_pending(ssl) == 0) break;
    }
    return Outcome::done;
  }

  // All of the buffers, up to kMostWritten. OpenSSL wants a record that was not taken whole to be offered
  // again, which is why this does not stop in the middle.
  Outcome try_write() {
    system_error = 0;
    while (true) {
      std::array<char, kRecord> gathered;
      const asio::const_buffer piece = next_piece(gathered.data());
      if (piece.size() == 0 || written >= kMostWritten) return Outcome::done;
      std::size_t count = 0;
      ::ERR_clear_error();
      const int result = ::SSL_write_ex(ssl, piece.data(), piece.size(), &count);
      if (result != 1) return outcome(result);
      written += count;
    }
  }

  // The next record's content, after `written` bytes: as it is where it is large, else copied together.
  asio::const_buffer next_piece(char* room) const {
    std::size_t skip = written;
    std::size_t filled = 0;
    for (const asio::const_buffer& buffer : write_from) {
      if (buffer.size() == 0) break;
      if (skip >= buffer.size()) {
        skip -= buffer.size();
        continue;
      }
      const asio::const_buffer rest = buffer + std::exchange(skip, 0);
      if (filled == 0 && rest.size() >= kRecord) return asio::buffer(rest, kRecord);
      const std::size_t size = std::min(rest.size(), kRecord - filled);
      std::memcpy(room + filled, rest.data(), size);
      filled += size;
      if (filled == kRecord) break;
    }
    return asio::buffer(room, filled);
  }

  void go_on_reading(bool first) {
    if (const Outcome now = try_read(); now == Outcome::want_read || now == Outcome::want_write)
      wait_for(now, [](Tls& tls, ErrorCode failed) {
        failed ? finish(std::move(tls.read_done), failed, 0) : tls.go_on_reading(false);
      });
    else
      end(first, std::move(read_done), now == Outcome::failed ? error : ErrorCode(), read_count);
  }

  void go_on_writing(bool first) {
    if (const Outcome now = try_write(); now == Outcome::want_read || now == Outcome::want_write)
      wait_for(now, [](Tls& tls, ErrorCode failed) {
        failed ? finish(std::move(tls.write_done), failed, 0) : tls.go_on_writing(false);
      });
    else
      end(first, std::move(write_done), now == Outcome::failed ? error : ErrorCode(), written);
  }

  using Next = void (*)(Tls&, ErrorCode);

  void wait_for(Outcome what, Next next) {
    const auto direction = what == Outcome::want_read ? tcp::socket::wait_read : tcp::socket::wait_write;
    owner->socket_.async_wait(direction, [self = shared_from_this(), next](ErrorCode failed) {
      if (!failed && (!self->owner || !self->owner->is_open())) failed = asio::error::operation_aborted;
      next(*self, failed);
    });
  }

  static void finish(std::unique_ptr<IoDone> done, ErrorCode failed, std::size_t count) {
    done->finish(failed, count);
  }

  void end(bool first, std::unique_ptr<IoDone> done, ErrorCode failed, std::size_t count) {
    if (!first) return finish(std::move(done), failed, count);
    asio::post(owner->get_executor(),
               [done = std::move(done), failed, count]() mutable { finish(std::move(done), failed, count); });
  }

  SSL* const ssl;
  Stream* owner;
  ErrorCode error;       // of the call that failed last
  int system_error = 0;  // of recv() and send()
  bool ended = false;    // the other side has closed its end of the socket
  bool broken = false;   // OpenSSL wants nothing more to be done with it

  ReadBuffers read_into{};
  std::size_t read_count = 0;
  std::unique_ptr<IoDone> read_done;
  WriteBuffers write_from{};
  std::size_t written = 0;
  std::unique_ptr<IoDone> write_done;

  static const BIO_METHOD* socket_method();
};

// A BIO straight on the socket. Not OpenSSL's own, which has no MSG_NOSIGNAL.
const BIO_METHOD* Stream::Tls::socket_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = ::BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stream");
    ::BIO_meth_set_read(made, [](BIO* bio, char* data, int size) {
      Tls& tls = *static_cast<Tls*>(::BIO_get_data(bio));
      BIO_clear_retry_flags(bio);
      const auto got = ::recv(tls.fd(), data, static_cast<std::size_t>(size), MSG_DONTWAIT);
      if (got == 0) tls.ended = true;
      if (got < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_retry_read(bio);
      else if (got < 0)
        tls.system_error = errno;
      return static_cast<int>(got);
    });
    ::BIO_meth_set_write(made, [](BIO* bio, const char* data, int size) {
      Tls& tls = *static_cast<Tls*>(::BIO_get_data(bio));
      BIO_clear_retry_flags(bio);
      const auto sent = ::send(tls.fd(), data, static_cast<std::size_t>(size), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_retry_write(bio);
      else if (sent < 0)
        tls.system_error = errno;
      return static_cast<int>(sent);
    });
    ::BIO_meth_set_ctrl(made, [](BIO* bio, int what, long, void*) -> long {
      if (what == BIO_CTRL_EOF) return static_cast<Tls*>(::BIO_get_data(bio))->ended ? 1 : 0;
      return what == BIO_CTRL_FLUSH ? 1 : 0;
    });
    return made;
  }();
  return method;
}

Stream::Stream(tcp::socket socket) : socket_(std::move(socket)) {}

Stream::Stream(Stream&& other) noexcept : socket_(std::move(other.socket_)), tls_(std::move(other.tls_)) {
  if (tls_) tls_->owner = this;
}

Stream::~Stream() {
  if (tls_) tls_->owner = nullptr;
}

void Stream::close(ErrorCode& error) {
  socket_.close(error);
}

Task<ErrorCode> Stream::handshake(ssl_st* ssl) {
  tls_ = std::make_shared<Tls>(*this, ssl);
  const auto tls = tls_;
  ErrorCode failed;
  socket_.non_blocking(true, failed);
  BIO* bio = ::BIO_new(Tls::socket_method());
  if (failed || !bio) {
    ::BIO_free(bio);
    co_return failed ? failed : tls_error(kTlsUnknown);
  }
  ::BIO_set_data(bio, tls.get());
  ::BIO_set_init(bio, 1);
  ::SSL_set_bio(ssl, bio, bio);
  while (true) {
    ::ERR_clear_error();
    const auto now = tls->outcome(::SSL_do_handshake(ssl));
    if (now == Tls::Outcome::done) co_return ErrorCode();
    if (now == Tls::Outcome::failed)
      co_return tls->error == asio::error::eof ? tls_error(kTlsTruncated) : tls->error;
    const auto direction = now == Tls::Outcome::want_read ? tcp::socket::wait_read : tcp::socket::wait_write;
    auto [waited] = co_await socket_.async_wait(direction, kAsTuple);
    if (waited) co_return waited;
    if (!socket_.is_open()) co_return ErrorCode(asio::error::operation_aborted);
  }
}

ssl_st* Stream::ssl() const {
  return tls_ ? tls_->ssl : nullptr;
}

bool Stream::has_pending() const {
  return tls_ && ::SSL_pending(tls_->ssl) > 0;
}

bool Stream::say_close() {
  if (!tls_ || tls_->broken || !socket_.is_open() || !::SSL_is_init_finished(tls_->ssl)) return true;
  ::ERR_clear_error();
  const int result = ::SSL_shutdown(tls_->ssl);
  return result >= 0 || tls_->outcome(result) != Tls::Outcome::want_write;
}

void Stream::start_read(const ReadBuffers& buffers, std::unique_ptr<IoDone> done) {
  tls_->read_into = buffers;
  tls_->read_done = std::move(done);
  tls_->go_on_reading(true);
}

void Stream::start_write(const WriteBuffers& buffers, std::unique_ptr<IoDone> done) {
  tls_->write_from = buffers;
  tls_->written = 0;
  tls_->write_done = std::move(done);
  tls_->go_on_writing(true);
}

std::string peer_name(const Stream& stream) {
  ErrorCode error;
  const tcp::endpoint peer = stream.tcp_socket().remote_endpoint(error);
  if (error) return "unknown";
  auto address = peer.address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    address = asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  return join_host_port(address.to_string(), peer.port());
}

}  // namespace transport
