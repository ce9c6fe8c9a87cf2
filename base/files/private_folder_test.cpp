#include "base/files/private_folder.hpp"

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
  for (const char* path : {"theirs/ours/private", "link/private", "link/new", "theirs/new"}) {
    const auto made = make_private_folder(scratch / path);
    REQUIRE_FALSE(made);
    CHECK(made.error().message().starts_with(scratch / "theirs belongs to uid 12345"));
  }
  CHECK_FALSE(scratch.exists("theirs/new"));  // nothing is made there
  CHECK_FALSE(scratch.exists("theirs/ours/new"));
  // A sticky folder, as /tmp, keeps others from renaming what is ours.
  REQUIRE(::chown((scratch / "theirs").c_str(), 0, 0) == 0);
  REQUIRE(::chmod((scratch / "theirs").c_str(), 01777) == 0);
  CHECK(make_private_folder(scratch / "theirs/ours/private"));
}

TEST_CASE("a link that others can point elsewhere is not the way to a private folder") {
  if (::geteuid() != 0) return;
  const tests::ScratchFolder scratch;
  scratch.folder("root/state");
  scratch.folder("home/ours");
  scratch.link("home/link", "../root");
  scratch.link("home/ours/link", "../../root");
  scratch.link("way", "home/ours/link");
  SUBCASE("because it is theirs") {
    REQUIRE(::lchown((scratch / "home/link").c_str(), 12345, 12345) == 0);
    CHECK_FALSE(make_private_folder(scratch / "home/link/state"));
  }
  SUBCASE("because it is in a folder of theirs") {
    REQUIRE(::chown((scratch / "home").c_str(), 12345, 12345) == 0);
  }
  SUBCASE("because everybody can write there, and the link itself is what can be renamed") {
    REQUIRE(::chmod((scratch / "home").c_str(), 01777) == 0);
    CHECK_FALSE(make_private_folder(scratch / "home/link/state"));
    CHECK(make_private_folder(scratch / "home/ours/link/state"));  // which nobody can
    return;
  }
  SUBCASE("or it is nobody's but ours") {
    for (const char* path :
         {"home/link/state", "home/ours/link/state", "way/state", "way/new", "home/../root"})
      CHECK_MESSAGE(make_private_folder(scratch / path), path);
    CHECK(scratch.mode("root/new") == 0700);
    return;
  }
  // Where the folder is in the end is fine; how the name leads there is not.
  for (const char* path : {"home/link/state", "home/link/new"})
    CHECK_MESSAGE(!make_private_folder(scratch / path), path);
  if (scratch.look("home").st_uid != 0)
    for (const char* path : {"home/ours/link/state", "way/state", "way/new"})
      CHECK_MESSAGE(!make_private_folder(scratch / path), path);
  CHECK(scratch.count("root") == 1);
}
