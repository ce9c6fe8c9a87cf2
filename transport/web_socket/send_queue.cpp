#include "transport/web_socket/send_queue.hpp"

#include <algorithm>
#include <utility>

namespace transport {

SendQueue::SendQueue(asio::any_io_executor executor, SendLimits limits)
    : limits_(limits), changed_(executor), drained_(executor) {}

bool SendQueue::fits(std::size_t messages, std::size_t bytes) const {
  return messages == 1 || (messages <= limits_.messages && bytes <= limits_.bytes);
}

bool SendQueue::roomy() const {
  return items_.size() <= limits_.messages / 2 && bytes_ <= limits_.bytes / 2;
}

bool SendQueue::push(Text text) {
  if (closed_ || !fits(items_.size() + 1, bytes_ + text->size())) return false;
  bytes_ += text->size();
  items_.push_back({std::move(text), {}});
  changed_.notify();
  return true;
}

bool SendQueue::replace(std::string_view slot, Text text) {
  const auto older = std::ranges::find(items_, slot, &Item::slot);
  if (older == items_.end()) {
    if (!push(std::move(text))) return false;
    items_.back().slot = slot;
    return true;
  }
  const std::size_t bytes = bytes_ - older->text->size() + text->size();
  if (closed_ || !fits(items_.size(), bytes)) return false;
  bytes_ = bytes;
  older->text = std::move(text);
  return true;
}

Task<base::Result<void>> SendQueue::run(std::shared_ptr<WebSocket> socket) {
  while (true) {
    while (items_.empty() && !closed_)
      co_await changed_.wait();
    if (items_.empty()) co_return base::Result<void>();
    Text text = std::move(items_.front().text);
    bytes_ -= text->size();
    items_.pop_front();
    if (roomy()) drained_.notify();
    auto written = co_await socket->write(std::move(text));
    if (!written) {
      clear();
      close();
      co_return written;
    }
  }
}

void SendQueue::clear() {
  items_.clear();
  bytes_ = 0;
}

void SendQueue::close() {
  closed_ = true;
  changed_.notify();
  drained_.notify();
}

Task<bool> SendQueue::room() {
  while (!closed_ && !roomy())
    co_await drained_.wait();
  co_return !closed_;
}

}  // namespace transport
