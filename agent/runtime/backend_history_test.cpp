#include "agent/runtime/backend_history.hpp"

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

namespace agent::runtime {

TEST_CASE("what the backend has said about its history is known after a restart") {
  const tests::ScratchFolder scratch;
  BackendHistory history(scratch / "history");
  history.load();
  CHECK(history.text().empty());
  REQUIRE(history.keep("h.1"));
  REQUIRE(history.keep("h.2"));
  CHECK(scratch.mode("history") == 0600);
  BackendHistory again(scratch / "history");
  again.load();
  CHECK(again.text() == "h.2");
  // What was there already is not written again.
  scratch.write("history", "by hand");
  REQUIRE(again.keep("h.2"));
  CHECK(scratch.read("history") == "by hand");
}

TEST_CASE(
    "a history that no backend would read counts as none, and one that cannot be written is kept in memory") {
  const tests::ScratchFolder scratch;
  for (const std::string& text : {std::string("\n"), std::string("a\x01z"), std::string(5000, 'x')}) {
    scratch.write("history", text);
    BackendHistory history(scratch / "history");
    history.load();
    CHECK(history.text().empty());
  }
  BackendHistory nowhere(scratch / "missing/history");
  CHECK_FALSE(nowhere.keep("h"));
  CHECK(nowhere.text() == "h");
}

}  // namespace agent::runtime
