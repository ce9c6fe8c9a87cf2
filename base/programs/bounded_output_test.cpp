#include "base/programs/bounded_output.hpp"

#include <string>

#include <doctest/doctest.h>

namespace base {

TEST_CASE("output that fits is kept as it is") {
  BoundedOutput output(4, 4);
  CHECK(output.text().empty());
  output.append("abc");
  output.append("defgh");
  CHECK(output.text() == "abcdefgh");
  CHECK(output.dropped() == 0);
}

TEST_CASE("one byte too many is dropped from the middle") {
  BoundedOutput output(4, 4);
  output.append("abcdefghi");
  CHECK(output.text() == "abcd\n[... 1 bytes dropped ...]\nfghi");
  CHECK(output.dropped() == 1);
}

TEST_CASE("head or tail of no bytes") {
  BoundedOutput head_only(3, 0);
  head_only.append("abcde");
  head_only.append("f");
  CHECK(head_only.text() == "abc\n[... 3 bytes dropped ...]\n");

  BoundedOutput tail_only(0, 3);
  tail_only.append("abcde");
  tail_only.append("f");
  CHECK(tail_only.text() == "\n[... 3 bytes dropped ...]\ndef");

  BoundedOutput nothing(0, 0);
  nothing.append("abc");
  CHECK(nothing.text() == "\n[... 3 bytes dropped ...]\n");
}

TEST_CASE("head, tail and count are right for every way to cut the same bytes into pieces") {
  constexpr std::size_t kHead = 5;
  constexpr std::size_t kTail = 7;
  std::string all;
  for (int i = 0; i < 60; ++i) {
    all += static_cast<char>('0' + i);
  }
  const std::string expected =
      all.substr(0, kHead) + "\n[... 48 bytes dropped ...]\n" + all.substr(all.size() - kTail);

  for (std::size_t first = 1; first <= 20; ++first) {
    for (std::size_t second = 1; second <= 20; ++second) {
      BoundedOutput output(kHead, kTail);
      for (std::size_t at = 0; at < all.size(); at += first + second) {
        output.append(std::string_view(all).substr(at, first));
        if (at + first < all.size()) output.append(std::string_view(all).substr(at + first, second));
      }
      CAPTURE(first);
      CAPTURE(second);
      CHECK(output.text() == expected);
      CHECK(output.dropped() == 48);
    }
  }
}

}  // namespace base
