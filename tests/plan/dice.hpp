// Dice: all that is random in a case comes from its seed, so that a case can be had again.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tests {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15ULL + 1) {}

  std::size_t below(std::size_t limit) { return engine_() % limit; }
  bool percent(unsigned chance) { return below(100) < chance; }
  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace tests
