// WebSocket: one connection that carries text messages, either side of it.
//
// Belongs to one loop and is used on its thread. One read() and one write() at a time (SendQueue is the
// writer for many); close() and abort() at any time. Everything that waits for the peer has a deadline except
// read(), which the heartbeat guards. It is shared so that whoever reads, writes and closes need not agree on
// who is last.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "transport/async.hpp"

namespace transport {

// One encoded message, shared by all connections that it is sent on.
using Text = std::shared_ptr<const std::string>;

inline Text make_text(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

// Codes of close frames (RFC 6455, 7.4.1).
namespace close_code {
inline constexpr unsigned kNormal = 1000;
inline constexpr unsigned kGoingAway = 1001;
inline constexpr unsigned kProtocolError = 1002;
inline constexpr unsigned kNotText = 1003;
inline constexpr unsigned kBadPayload = 1007;
inline constexpr unsigned kPolicy = 1008;
inline constexpr unsigned kTooBig = 1009;
inline constexpr unsigned kTryAgainLater = 1013;
}  // namespace close_code

struct WebSocketOptions {
  std::size_t max_message = 64 * 1024;
  // A ping every so often; the peer is dead when two of them were missed. 0: none.
  std::chrono::milliseconds heartbeat = std::chrono::seconds(30);
  std::chrono::milliseconds write_deadline = std::chrono::seconds(20);
  std::chrono::milliseconds close_deadline = std::chrono::seconds(5);
};

class WebSocket {
 public:
  virtual ~WebSocket() = default;

  // The next message. The error says how the connection ended:
  //   io         the peer closed it ("closed by the peer: 1001 restarting") or it broke
  //   timed_out  the peer is dead: it missed two heartbeats, or did not take what was written
  //   limit      a message larger than allowed; it was answered with 1009
  //   invalid    not text, not UTF-8 or not a websocket; answered with 1003, 1007 or 1002
  //   cancelled  closed or aborted by us
  // After an error every further call answers with an error.
  virtual Task<base::Result<std::string>> read() = 0;

  // Returns when the system has taken all of it. When it does not within the deadline the connection is
  // aborted.
  virtual Task<base::Result<void>> write(Text text) = 0;

  // Says goodbye and waits for the peer's, both within the deadline, then the connection is gone. The reason
  // is cut to 123 bytes. A pending read() ends with `cancelled`.
  virtual Task<> close(unsigned code, std::string reason) = 0;

  // Ends the connection at once; pending calls end with `cancelled`.
  virtual void abort() = 0;

  virtual void set_max_message(std::size_t bytes) = 0;
  virtual void set_heartbeat(std::chrono::milliseconds every) = 0;

  // The code of the peer's close frame; 0 while there is none.
  virtual unsigned peer_close_code() const = 0;
  // "address:port" of the other side.
  virtual const std::string& peer() const = 0;
  virtual asio::any_io_executor executor() = 0;
};

}  // namespace transport
