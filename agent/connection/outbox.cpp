#include "agent/connection/outbox.hpp"

namespace agent::connection {

Outbox::Outbox(std::shared_ptr<transport::WebSocket> socket, std::function<void(std::uint64_t)> written)
    : socket_(std::move(socket)), written_(std::move(written)), changed_(socket_->executor()) {}

bool Outbox::push(std::string text, std::optional<std::uint64_t> seq, bool may_be_dropped) {
  if (stopped_ || closing_) return true;  // nobody will read it any more
  if (bytes_ + text.size() > (may_be_dropped ? kMostOutputBytes : kMostBytes) && !items_.empty())
    return false;
  bytes_ += text.size();
  items_.push_back({transport::make_text(std::move(text)), seq});
  changed_.notify();
  return true;
}

void Outbox::close(unsigned code, std::string reason) {
  if (!closing_) closing_ = {code, std::move(reason)};
  changed_.notify();
}

void Outbox::stop() {
  stopped_ = true;
  changed_.notify();
}

transport::Task<> Outbox::run() {
  while (!stopped_) {
    if (items_.empty()) {
      if (closing_) break;
      co_await changed_.wait();
      continue;
    }
    Item item = std::move(items_.front());
    items_.pop_front();
    bytes_ -= item.text->size();
    writing_ = true;
    const base::Result<void> written = co_await socket_->write(item.text);
    writing_ = false;
    if (!written) break;  // the reader hears why
    if (item.seq) written_(*item.seq);
  }
  if (stopped_) co_return;  // the reader has seen the end of it
  if (closing_) {
    const Closing last = *closing_;
    co_await socket_->close(last.code, last.reason);
  }
  socket_->abort();
}

}  // namespace agent::connection
