#include "base/token.hpp"

#include <doctest/doctest.h>

TEST_CASE("random texts have the asked length and differ") {
  const std::string one = base::random_hex(100);
  CHECK(one.size() == 200);
  CHECK(one.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(one != base::random_hex(100));
  CHECK(base::random_hex(0).empty());
}

TEST_CASE("tokens are equal only when all of them is") {
  CHECK(base::equal_in_constant_time("secret", "secret"));
  CHECK_FALSE(base::equal_in_constant_time("secret", "secreT"));
  CHECK_FALSE(base::equal_in_constant_time("secret", "secrets"));
  CHECK_FALSE(base::equal_in_constant_time("secret", ""));
  CHECK(base::equal_in_constant_time("", ""));
}
