#include "agent/runtime/recipe_store.hpp"

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

using namespace agent;
using namespace agent::runtime;

TEST_CASE("the recipe that was accepted last is there after a restart, and only we can read it") {
  const tests::ScratchFolder scratch;
  const StoredRecipe recipe{.version = 7,
                            .digest = "abc",
                            .on_change = engine::OnChange::kill,
                            .round_delay = std::chrono::seconds(30),
                            .module = {"https://example.com/x.git", "v1", "c0ffee"},
                            .states = R"([{"id":"a","module":"meta.comment","parameter":{}}])"};
  {
    RecipeStore store(scratch / "recipe");
    REQUIRE(store.load());
    CHECK(!store.current());
    REQUIRE(store.accept(recipe));
  }
  CHECK(scratch.mode("recipe") == 0600);
  RecipeStore again(scratch / "recipe");
  REQUIRE(again.load());
  REQUIRE(again.current());
  CHECK(*again.current() == recipe);

  REQUIRE(again.move_version(8));
  RecipeStore moved(scratch / "recipe");
  REQUIRE(moved.load());
  CHECK(moved.current()->version == 8);
  CHECK(moved.current()->states == recipe.states);
}

TEST_CASE("a recipe that cannot be stored leaves the old one") {
  const tests::ScratchFolder scratch;
  RecipeStore store(scratch / "missing/recipe");
  CHECK(!store.accept({.version = 1, .states = "[]"}));
  CHECK(!store.current());
}

TEST_CASE("a damaged recipe file is an error and not a recipe") {
  const tests::ScratchFolder scratch;
  for (const char* text : {"", "{", "[]", R"({"version":1})", R"({"version":1,"states":{}})"}) {
    scratch.write("recipe", text);
    RecipeStore store(scratch / "recipe");
    CHECK(!store.load());
    CHECK(!store.current());
  }
}
