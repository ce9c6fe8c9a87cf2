// Memory: what one rendering may use. Everything that it makes lives in one arena and goes at once; steps and
// bytes are counted, and whoever passes a limit is ended by a Failure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory_resource>
#include <string_view>
#include <type_traits>
#include <utility>

#include "templates/failure.hpp"

namespace templates {

struct Limits {
  std::uint64_t steps = 20'000'000;       // nodes evaluated, items looked at, kilobytes of text made
  std::size_t output = 16 * 1024 * 1024;  // bytes of the result, and of any text on the way
  std::size_t memory = 256 * 1024 * 1024;
  unsigned depth = 600;  // of nested expressions, blocks, macros, includes and values
};

class Memory {
 public:
  explicit Memory(const Limits& limits)
      : limits_(limits), steps_left_(limits.steps), bytes_left_(limits.memory) {}
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void step(std::uint64_t count = 1) {
    if (count > steps_left_)
      throw Failure("takes more than " + std::to_string(limits_.steps) + " steps", true);
    steps_left_ -= count;
  }

  // Made so far.
  std::uint64_t steps() const { return limits_.steps - steps_left_; }

  void* allocate(std::size_t bytes, std::size_t alignment) {
    if (bytes > bytes_left_)
      throw Failure("needs more than " + std::to_string(limits_.memory >> 20) + " MiB of memory", true);
    bytes_left_ -= bytes;
    return arena_.allocate(bytes, alignment);
  }

  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>, "what lives here is never destroyed one by one");
    return new (allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }

  template <class T>
  T* array(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count > bytes_left_ / sizeof(T)) allocate(bytes_left_ + 1, 1);  // says so
    return static_cast<T*>(allocate(count * sizeof(T), alignof(T)));
  }

  char* text(std::size_t size) {
    check_text(size);
    step(size / 1024);
    return static_cast<char*>(allocate(size, 1));
  }

  std::string_view copy(std::string_view given) {
    if (given.empty()) return {};
    char* at = text(given.size());
    std::memcpy(at, given.data(), given.size());
    return {at, given.size()};
  }

  // Before a text of that size is put together.
  void check_text(std::size_t size) const {
    if (size > limits_.output)
      throw Failure("makes a text of more than " + std::to_string(limits_.output >> 20) + " MiB", true);
  }

  const Limits& limits() const { return limits_; }

 private:
  const Limits limits_;
  std::uint64_t steps_left_;
  std::size_t bytes_left_;
  alignas(16) std::array<std::byte, 8192> first_;  // small templates never ask the system
  std::pmr::monotonic_buffer_resource arena_{first_.data(), first_.size()};
};

}  // namespace templates
