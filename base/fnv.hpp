// FNV-1a, 64 bit: a short name or checksum where nobody has a reason to find two texts with the same.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace base {

// 16 hexadecimal digits.
inline std::string fnv1a_hex(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

}  // namespace base
