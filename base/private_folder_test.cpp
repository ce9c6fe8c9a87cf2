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
  SUBCASE("by its group") {
    if (::geteuid() != 0) return;
    REQUIRE(::chown((scratch / "theirs").c_str(), 0, 12345) == 0);
    ::chmod((scratch / "theirs").c_str(), 0770);
  }
  const auto made = make_private_folder(scratch / "theirs");
  REQUIRE_FALSE(made);
  CHECK(made.error().code() == base::ErrorCode::permission);
}

TEST_CASE("a folder that others can put another one in the place of is not trusted") {
  if (::geteuid() != 0) return;
  const tests::ScratchFolder scratch;
  scratch.folder("theirs/ours/private");
  REQUIRE(::chown((scratch / "theirs").c_str(), 12345, 0) == 0);
  scratch.link("link", "theirs/ours");
  for (const char* path : {"theirs/ours/private", "link/private", "link/new"}) {
    const auto made = make_private_folder(scratch / path);
    REQUIRE_FALSE(made);
    CHECK(made.error().message().starts_with(scratch / "theirs belongs to uid 12345"));
  }
  // A sticky folder, as /tmp, keeps others from renaming what is ours.
  REQUIRE(::chown((scratch / "theirs").c_str(), 0, 0) == 0);
  REQUIRE(::chmod((scratch / "theirs").c_str(), 01777) == 0);
  CHECK(make_private_folder(scratch / "theirs/ours/private"));
}
