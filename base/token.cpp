#include "base/token.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include <openssl/crypto.h>

namespace base {

std::string random_hex(std::size_t bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, 64> block{};
  std::string text;
  text.reserve(bytes * 2);
  while (text.size() < bytes * 2) {
    // Up to 256 bytes are never cut short once the kernel's generator is seeded; until then this waits.
    const ssize_t got = ::getrandom(block.data(), std::min(block.size(), bytes - text.size() / 2), 0);
    if (got < 0 && errno != EINTR) std::abort();  // no secret is better than a guessable one
    for (ssize_t i = 0; i < got; ++i) {
      text += kDigits[block[static_cast<std::size_t>(i)] >> 4];
      text += kDigits[block[static_cast<std::size_t>(i)] & 15];
    }
  }
  return text;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace base
