#include "update/must_finish.hpp"

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

TEST_CASE("an agent that lets something finish is known by a lock that goes with it") {
  const tests::ScratchFolder folder;
  CHECK_FALSE(update::must_finish(folder.path()));
  {
    const base::UniqueFd lock = update::lock_must_finish(folder.path());
    CHECK(lock);
    CHECK(update::must_finish(folder.path()));
    CHECK_FALSE(update::lock_must_finish(folder.path()));
  }
  CHECK_FALSE(update::must_finish(folder.path()));
  CHECK_FALSE(update::lock_must_finish(folder / "nowhere"));
}
