// BoundedOutput: the start and the end of a stream of any length, in constant memory.
//
// Keeps the first `keep_head` and the last `keep_tail` bytes and counts what falls between. One thread at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace base {

class BoundedOutput {
 public:
  BoundedOutput(std::size_t keep_head, std::size_t keep_tail);

  void append(std::string_view bytes);

  // Bytes that are in neither head nor tail.
  std::uint64_t dropped() const { return dropped_; }

  // Head and tail; when something was dropped, with "\n[... N bytes dropped ...]\n" between.
  std::string text() const;

 private:
  void append_to_tail(std::string_view bytes);

  const std::size_t keep_head_;
  const std::size_t keep_tail_;
  std::string head_;
  std::string tail_;            // grows to keep_tail_, from then on a ring
  std::size_t tail_start_ = 0;  // the oldest byte of the ring
  std::uint64_t dropped_ = 0;
};

}  // namespace base
