// SendQueue: what waits to be written on one connection, and the one coroutine that writes it.
//
// Bounded in messages and bytes: push() refuses instead of growing, so a slow peer costs a fixed amount of
// memory and holds nobody up. Belongs to its loop's thread, and outlives its run() and room().
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "transport/async.hpp"
#include "transport/web_socket/web_socket.hpp"

namespace transport {

struct SendLimits {
  std::size_t messages = 256;
  std::size_t bytes = 8 * 1024 * 1024;
};

class SendQueue {
 public:
  explicit SendQueue(asio::any_io_executor executor, SendLimits limits = {});
  SendQueue(const SendQueue&) = delete;
  SendQueue& operator=(const SendQueue&) = delete;

  // False when it is full or closed. A message larger than the limit is taken when nothing else waits.
  bool push(Text text);

  // As push(), but takes the place of a message of the same slot that has not been written yet: of many
  // recipes for a slow agent only the newest is sent. When it is refused the older one stays.
  bool replace(std::string_view slot, Text text);

  // Writes until the queue is closed and empty (a success) or the socket fails. Once per queue.
  Task<base::Result<void>> run(std::shared_ptr<WebSocket> socket);

  // Forgets what is queued.
  void clear();
  // No more push(); run() ends after what is queued.
  void close();
  // By close(), or because the socket failed.
  bool is_closed() const { return closed_; }

  // Waits until at most half of the limits is used; false when the queue was closed or its socket failed.
  Task<bool> room();

  std::size_t messages() const { return items_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Item {
    Text text;
    std::string slot;  // empty: not replaceable
  };
  bool fits(std::size_t messages, std::size_t bytes) const;
  bool roomy() const;

  const SendLimits limits_;
  std::list<Item> items_;  // a list, because an empty one holds no memory
  std::size_t bytes_ = 0;
  bool closed_ = false;
  Wake changed_;  // something to write, or closed
  Wake drained_;  // room(), or closed
};

}  // namespace transport
