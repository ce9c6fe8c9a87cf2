// Arena: memory that is given out piece by piece and taken back all at once.
//
// A recipe of ten thousand states is a few hundred thousand small strings and lists that live exactly as long
// as the recipe. What is made here is never destroyed one by one, so only trivially destructible types are
// accepted.
#pragma once

#include <cstring>
#include <memory_resource>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

namespace base {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>, "an arena never runs destructors");
    return new (memory_.allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }

  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    char* at = static_cast<char*>(memory_.allocate(text.size(), 1));
    std::memcpy(at, text.data(), text.size());
    return {at, text.size()};
  }

  template <class T>
  std::span<const T> copy(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    if (items.empty()) return {};
    T* at = static_cast<T*>(memory_.allocate(items.size_bytes(), alignof(T)));
    std::memcpy(static_cast<void*>(at), items.data(), items.size_bytes());
    return {at, items.size()};
  }

 private:
  static constexpr std::size_t kFirstBlock = 16 * 1024;
  std::pmr::monotonic_buffer_resource memory_{kFirstBlock};
};

}  // namespace base
