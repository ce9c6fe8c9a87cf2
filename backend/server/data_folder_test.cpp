#include "backend/server/data_folder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

using backend::server::DataFolder;

TEST_CASE("the data folder and the token are for nobody else's eyes") {
  const tests::ScratchFolder scratch;
  const auto folder = DataFolder::open(scratch / "a/data/");
  REQUIRE(folder);
  CHECK(scratch.mode("a/data") == 0700);
  const auto token = folder->admin_token();
  REQUIRE(token);
  CHECK(token->starts_with("ops_"));
  CHECK(token->size() == 4 + 16 + 1 + 64);
  CHECK(scratch.mode("a/data/admin.token") == 0600);
  CHECK(*folder->admin_token() == *token);  // the same one from then on
}

TEST_CASE("a folder that others could read is closed to them") {
  const tests::ScratchFolder scratch;
  scratch.folder("data");
  ::chmod((scratch / "data").c_str(), 0755);
  REQUIRE(DataFolder::open(scratch / "data"));
  CHECK(scratch.mode("data") == 0700);
}

TEST_CASE("a data folder that a user leads to is refused, and nothing of root's is changed" *
          doctest::skip(::geteuid() != 0)) {
  const tests::ScratchFolder scratch;
  scratch.folder("precious");
  scratch.folder("home/real");
  scratch.link("home/opsbackend-data", "../precious");
  REQUIRE(::chown((scratch / "home").c_str(), 65534, 65534) == 0);
  for (const uid_t owner : {uid_t{65534}, uid_t{0}}) {
    REQUIRE(::lchown((scratch / "home/opsbackend-data").c_str(), owner, owner) == 0);
    for (const char* path : {"home/opsbackend-data", "home/opsbackend-data/new", "home/real", "home/new"}) {
      const auto folder = DataFolder::open(scratch / path);
      REQUIRE_FALSE(folder);
      CHECK(folder.error().code() == base::ErrorCode::permission);
      CHECK(folder.error().message().starts_with("the data folder (--data): "));
    }
  }
  CHECK(scratch.mode("precious") == 0755);
  CHECK(scratch.count("precious") == 0);
  CHECK(scratch.mode("home/real") == 0755);
  CHECK_FALSE(scratch.exists("home/new"));
}

TEST_CASE("a second backend on the same data is refused, until the first has gone") {
  const tests::ScratchFolder scratch;
  {
    const auto first = DataFolder::open(scratch / "data");
    REQUIRE(first);
    const auto second = DataFolder::open(scratch / "data");
    REQUIRE_FALSE(second);
    CHECK(second.error().message().find("in use by another opsbackend (pid ") != std::string::npos);
  }
  CHECK(DataFolder::open(scratch / "data"));
}

TEST_CASE("a token file without a token is not taken for one") {
  const tests::ScratchFolder scratch;
  const auto folder = DataFolder::open(scratch / "data");
  REQUIRE(folder);
  scratch.write("data/admin.token", "\n");
  CHECK_FALSE(folder->admin_token());
}
