#include "base/private_folder.hpp"

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

using base::make_private_folder;

TEST_CASE("a private folder is made with those above it, and is nobody else's") {
  const tests::ScratchFolder scratch;
  SUBCASE("as usual") {
    CHECK(make_private_folder(scratch / "a/b"));
  }
  SUBCASE("with slashes at its end") {
    CHECK(make_private_folder(scratch / "a/b//"));
  }
  CHECK(scratch.mode("a/b") == 0700);
  CHECK(make_private_folder(scratch / "a/b"));
}

TEST_CASE("a folder that others can write to is not trusted") {
  const tests::ScratchFolder scratch;
  scratch.folder("theirs");
  SUBCASE("by its mode") {
    ::chmod((scratch / "theirs").c_str(), 01777);
  }
  SUBCASE("by its owner") {
    if (::geteuid() != 0) return;
    REQUIRE(::chown((scratch / "theirs").c_str(), 12345, 0) == 0);
  }
  const auto made = make_private_folder(scratch / "theirs");
  REQUIRE_FALSE(made);
  CHECK(made.error().code() == base::ErrorCode::permission);
}
