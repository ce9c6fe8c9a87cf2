// Outbox: what waits to be written on one connection, and the one coroutine that writes it.
//
// Unlike transport::SendQueue it says when a report has left, so that the spool is read in windows and no
// more than one of them is ever in memory. Bounded: live output is dropped when the peer is slow, everything
// else is an answer or a report, of which there are few at a time. Belongs to its loop's thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "transport/async.hpp"
#include "transport/web_socket/web_socket.hpp"

namespace agent::connection {

class Outbox {
 public:
  // `written` is called with the number of each report that the socket has taken.
  Outbox(std::shared_ptr<transport::WebSocket> socket, std::function<void(std::uint64_t)> written);

  // False when there is no room; `may_be_dropped`: it is then simply left out.
  bool push(std::string text, std::optional<std::uint64_t> seq, bool may_be_dropped = false);
  // After what waits, says goodbye and closes.
  void close(unsigned code, std::string reason);
  // Nothing more is written.
  void stop();
  bool is_empty() const { return items_.empty() && !writing_; }

  // Writes until stopped or closed, or the socket fails; then the socket is gone.
  transport::Task<> run();

 private:
  struct Item {
    transport::Text text;
    std::optional<std::uint64_t> seq;
  };
  struct Closing {
    unsigned code;
    std::string reason;
  };

  static constexpr std::size_t kMostBytes = 32 * 1024 * 1024;
  static constexpr std::size_t kMostOutputBytes = 1024 * 1024;

  const std::shared_ptr<transport::WebSocket> socket_;
  const std::function<void(std::uint64_t)> written_;
  transport::Wake changed_;
  std::deque<Item> items_;
  std::size_t bytes_ = 0;
  bool writing_ = false;
  bool stopped_ = false;
  std::optional<Closing> closing_;
};

}  // namespace agent::connection
