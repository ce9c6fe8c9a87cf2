#include "agent/runtime/old_backends.hpp"

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

namespace agent::runtime {

TEST_CASE("which backends have spoken version 1 is known after a restart, until they speak version 2") {
  const tests::ScratchFolder scratch;
  OldBackends backends(scratch / "v1");
  backends.load();
  CHECK_FALSE(backends.contains("wss://a/agent/"));
  REQUIRE(backends.note("wss://a/agent/", true));
  REQUIRE(backends.note("wss://b/agent/", true));
  CHECK(scratch.mode("v1") == 0600);
  OldBackends again(scratch / "v1");
  again.load();
  CHECK(again.contains("wss://a/agent/"));
  CHECK(again.contains("wss://b/agent/"));
  CHECK_FALSE(again.contains("wss://c/agent/"));
  REQUIRE(again.note("wss://a/agent/", false));
  backends.load();
  CHECK_FALSE(backends.contains("wss://a/agent/"));
  CHECK(backends.contains("wss://b/agent/"));
}

TEST_CASE("so many backends are remembered, and a file that nobody can write is no harm") {
  const tests::ScratchFolder scratch;
  OldBackends backends(scratch / "v1");
  for (std::size_t i = 0; i <= OldBackends::kMost; ++i)
    REQUIRE(backends.note("wss://" + std::to_string(i) + "/", true));
  CHECK_FALSE(backends.contains("wss://0/"));
  CHECK(backends.contains("wss://1/"));
  OldBackends nowhere(scratch / "missing/v1");
  CHECK_FALSE(nowhere.note("wss://a/", true));
  CHECK(nowhere.contains("wss://a/"));
}

}  // namespace agent::runtime
