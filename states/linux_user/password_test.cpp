#include "states/linux_user/password.hpp"

#include <doctest/doctest.h>

namespace states::linux_user {

TEST_CASE("hashes are told from clear passwords") {
  for (const char* text : {"*", "!", "!!", "**", "*LK*", "*x", "!x", "!$6$salt$hash", "$6$salt$hash",
                           "$y$j9T$x$y", "$1$x", "$2b$x", "$5$rounds=5000$s$h"})
    CHECK(is_hash(text));
  for (const char* text : {"", "secret", "$", "$$", "$6$", "$$x", "$6", "$A$x", "$6x!$y", "x!", "x$6$y$z"})
    CHECK_FALSE(is_hash(text));
}

TEST_CASE("a hash fits the password that it was made from and no other") {
  const auto hash = hash_of("correct horse");
  REQUIRE(hash);
  CHECK(hash->starts_with("$y$"));
  CHECK(is_hash(*hash));
  CHECK(is_password_of("correct horse", *hash));
  CHECK_FALSE(is_password_of("correct horse ", *hash));
  CHECK_FALSE(is_password_of("", *hash));
}

TEST_CASE("every hash has a salt of its own") {
  CHECK(*hash_of("x") != *hash_of("x"));
}

TEST_CASE("hashes of older methods are recognised") {
  // Made with openssl passwd -6 and -1.
  CHECK(is_password_of(
      "secret",
      "$6$saltsalt$TVLlQcbpFVof5W3Yz4DTP6gRstiNuHwwTt6GLc1E5n0U0aDehy0S5knV8wiOQSpT0Y77vwPZN.Pq.H91p5hVO1"));
  CHECK(is_password_of("secret", "$1$saltsalt$9xy1btjgzLYfb7hivXtC//"));
}

TEST_CASE("no password fits what is no hash") {
  for (const char* stored : {"", "*", "!", "*0", "*1", "x", "!$6$saltsalt$x", "$6$", "$nonsense$x"}) {
    CHECK_FALSE(is_password_of("secret", stored));
    CHECK_FALSE(is_password_of("", stored));
    CHECK_FALSE(is_password_of(stored, stored));
  }
}

}  // namespace states::linux_user
