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
                            .states = R"([{"id":"a","module":"meta.comment","parameter":{}}])",
                            .vars = R"({"port":81,"sites":[{"name":"shop","tls":null}]})",
                            .tags = {{"role", "web"}, {"zone", "eu"}}};
  {
    const RecipeStore store(scratch / "recipe");
    const auto none = store.load();
    REQUIRE(none);
    CHECK(!*none);
    REQUIRE(store.store(recipe));
  }
  CHECK(scratch.mode("recipe") == 0600);
  const RecipeStore again(scratch / "recipe");
  const auto found = again.load();
  REQUIRE(found);
  REQUIRE(*found);
  CHECK(**found == recipe);

  StoredRecipe moved = recipe;
  moved.version = 8;
  REQUIRE(again.store(moved));
  CHECK(**RecipeStore(scratch / "recipe").load() == moved);
}

TEST_CASE("a recipe that cannot be stored leaves the old one") {
  const tests::ScratchFolder scratch;
  const RecipeStore nowhere(scratch / "missing/recipe");
  CHECK(!nowhere.store({.version = 1, .states = "[]"}));
  const auto none = nowhere.load();
  REQUIRE(none);
  CHECK(!*none);
}

TEST_CASE("a damaged recipe file is an error and not a recipe") {
  const tests::ScratchFolder scratch;
  for (const char* text : {"", "{", "[]", R"({"version":1})", R"({"version":1,"states":{}})"}) {
    scratch.write("recipe", text);
    CHECK(!RecipeStore(scratch / "recipe").load());
  }
}
