// FNV-1a, 64 bit: a short name or checksum where nobody has a reason to find two texts with the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace base {

class Fnv1a {
 public:
  Fnv1a& add(std::string_view text) {
    for (const char c : text)
      hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return *this;
  }
  std::uint64_t value() const { return hash_; }
  // 16 hexadecimal digits.
  std::string hex() const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text(16, '0');
    for (std::size_t i = 0; i < text.size(); ++i)
      text[i] = kDigits[hash_ >> (60 - 4 * i) & 15];
    return text;
  }

 private:
  std::uint64_t hash_ = 14695981039346656037u;
};

inline std::uint64_t fnv1a(std::string_view text) {
  return Fnv1a().add(text).value();
}

inline std::string fnv1a_hex(std::string_view text) {
  return Fnv1a().add(text).hex();
}

}  // namespace base
