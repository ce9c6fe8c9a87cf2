// Damaged inputs, the same ones for the same seed on every machine.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace fuzz {

inline constexpr std::size_t kLargestInput = 64 * 1024;  // more finds nothing else and takes longer

// One of the seeds with a few of: flipped bits, other bytes, pieces cut, doubled, spliced in from other
// seeds, words of the dictionary put in.
inline std::string mutated(const std::vector<std::string>& seeds, const std::vector<std::string>& words,
                           std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  std::string text = seeds.empty() ? std::string() : seeds[below(seeds.size())];
  for (std::size_t left = 1 + below(5); left > 0; --left) {
    const std::size_t at = below(text.size() + 1), length = 1 + below(16);
    switch (below(8)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), length));
        break;
      case 4: {
        const std::string& other = seeds[below(seeds.size())];
        text = text.substr(0, at) + other.substr(below(other.size() + 1));
        break;
      }
      case 5:
        text.insert(at, length, static_cast<char>(below(256)));
        break;
      default:
        if (!words.empty()) text.insert(at, words[below(words.size())]);
    }
  }
  if (text.size() > kLargestInput) text.resize(kLargestInput);
  return text;
}

}  // namespace fuzz
