#include "base/values/arena.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace base {

TEST_CASE("an arena's copies are its own and stay where they are") {
  Arena arena;
  std::string original = "hello";
  const std::string_view copy = arena.copy(original);
  original = "other";
  std::vector<std::string_view> many;
  for (int i = 0; i < 50'000; ++i)
    many.push_back(arena.copy(std::to_string(i)));
  CHECK(copy == "hello");
  bool all_right = true;
  for (int i = 0; i < 50'000; ++i)
    all_right = all_right && many[static_cast<std::size_t>(i)] == std::to_string(i);
  CHECK(all_right);
}

TEST_CASE("an arena aligns what it makes") {
  Arena arena;
  for (int i = 0; i < 100; ++i) {
    (void)arena.copy("x");
    const auto* number = arena.make<double>(1.5);
    CHECK(reinterpret_cast<std::uintptr_t>(number) % alignof(double) == 0);
    CHECK(*number == 1.5);
  }
}

TEST_CASE("an arena makes structs with the defaults of their members") {
  struct Thing {
    int a = 7;
    std::string_view text = "x";
  };
  Arena arena;
  CHECK(arena.make<Thing>()->a == 7);
  CHECK(arena.make<Thing>(8, "y")->text == "y");
}

TEST_CASE("an arena copies lists, texts larger than its blocks, and nothing") {
  Arena arena;
  const std::vector<std::uint64_t> numbers{1, 2, 3};
  const auto copy = arena.copy(std::span<const std::uint64_t>(numbers));
  CHECK(std::vector<std::uint64_t>(copy.begin(), copy.end()) == numbers);
  CHECK(copy.data() != numbers.data());
  CHECK(reinterpret_cast<std::uintptr_t>(copy.data()) % alignof(std::uint64_t) == 0);
  const std::string large(1'000'000, 'x');
  CHECK(arena.copy(large) == large);
  CHECK(arena.copy("").empty());
  CHECK(arena.copy(std::span<const std::uint64_t>()).empty());
}

}  // namespace base
