#include "base/programs/bounded_output.hpp"

#include <algorithm>

namespace base {

BoundedOutput::BoundedOutput(std::size_t keep_head, std::size_t keep_tail)
    : keep_head_(keep_head), keep_tail_(keep_tail) {}

void BoundedOutput::append(std::string_view bytes) {
  const std::size_t to_head = std::min(bytes.size(), keep_head_ - head_.size());
  head_.append(bytes.substr(0, to_head));
  append_to_tail(bytes.substr(to_head));
}

void BoundedOutput::append_to_tail(std::string_view bytes) {
  if (bytes.size() >= keep_tail_) {
    dropped_ += tail_.size() + (bytes.size() - keep_tail_);
    tail_.assign(bytes.substr(bytes.size() - keep_tail_));
    tail_start_ = 0;
    return;
  }
  const std::size_t to_fill = std::min(bytes.size(), keep_tail_ - tail_.size());
  tail_.append(bytes.substr(0, to_fill));
  bytes.remove_prefix(to_fill);

  // The ring is full: every further byte takes the place of the oldest.
  dropped_ += bytes.size();
  const std::size_t until_wrap = std::min(bytes.size(), tail_.size() - tail_start_);
  bytes.copy(tail_.data() + tail_start_, until_wrap);
  bytes.substr(until_wrap).copy(tail_.data(), bytes.size() - until_wrap);
  if (!bytes.empty()) tail_start_ = (tail_start_ + bytes.size()) % tail_.size();
}

std::string BoundedOutput::text() const {
  std::string text = head_;
  if (dropped_ > 0) text += "\n[... " + std::to_string(dropped_) + " bytes dropped ...]\n";
  text.append(tail_, tail_start_);
  text.append(tail_, 0, tail_start_);
  return text;
}

}  // namespace base
