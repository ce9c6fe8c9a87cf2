#include "agent/runtime/wait_store.hpp"

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

namespace agent::runtime {

TEST_CASE("waits that were said to be done are known after a restart, and those of others are forgotten") {
  const tests::ScratchFolder scratch;
  {
    WaitStore store(scratch / "waits");
    store.load();
    REQUIRE(store.mark_done(1, "old"));
    REQUIRE(store.mark_done(2, "a"));
    REQUIRE(store.mark_done(2, "b"));
    REQUIRE(store.mark_done(3, "later"));
    REQUIRE(store.forget_all_but(2));
  }
  CHECK(scratch.mode("waits") == 0600);
  CHECK(scratch.read("waits") == "[{\"version\":2,\"id\":\"a\"},{\"version\":2,\"id\":\"b\"}]\n");
  WaitStore again(scratch / "waits");
  again.load();
  CHECK(again.waits().done_in(2) == std::vector<std::string>{"a", "b"});
  CHECK(again.waits().is_done(2, "b"));
  CHECK(!again.waits().is_done(1, "old"));
  CHECK(!again.waits().is_done(3, "later"));
  REQUIRE(again.forget(2));
  CHECK(scratch.read("waits") == "[]\n");
}

TEST_CASE("a damaged file of waits counts as empty, and one that cannot be written holds until the restart") {
  const tests::ScratchFolder scratch;
  for (const char* text : {"", "[", "{}", "[1]", R"([{"version":1}])"}) {
    scratch.write("waits", text);
    WaitStore store(scratch / "waits");
    store.load();
    CHECK(store.waits().all().empty());
  }
  WaitStore nowhere(scratch / "missing/waits");
  CHECK(!nowhere.mark_done(1, "w"));
  CHECK(nowhere.waits().is_done(1, "w"));
}

}  // namespace agent::runtime
