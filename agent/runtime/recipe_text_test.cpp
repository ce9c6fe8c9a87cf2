#include "agent/runtime/recipe_text.hpp"

#include <doctest/doctest.h>

#include "base/values/json.hpp"

using agent::runtime::compose_recipe;

namespace {

std::string whole(const std::string& content, const std::string& syntax = "yaml") {
  return R"({"syntax":")" + syntax + R"(","content":)" + base::json_quote(content) + R"(,"states":[]})";
}
const char* const kPlainState = R"({"id":"p","module":"meta.comment","parameter":{"comment":"x ${{ y }}"}})";

}  // namespace

TEST_CASE("states as they are to be are the recipe, word for word") {
  const std::string states =
      std::string("[") + kPlainState + R"(,{"id":"f","module":"linux.file","parameter":{"content":"c"}}])";
  const auto text = compose_recipe(states);
  REQUIRE(text);
  CHECK(text->name == "recipe.json");
  CHECK(text->text == states);
  CHECK(!text->files);
}

TEST_CASE("one recipe is as it was written, so what is said of it has its lines") {
  const auto text = compose_recipe("[" + whole("version: 2\nstates: []\n") + "]");
  REQUIRE(text);
  CHECK(text->name == "recipe.yaml");
  CHECK(text->text == "version: 2\nstates: []\n");
  CHECK(compose_recipe("[" + whole("{}", "json") + "]")->name == "recipe.json");
}

TEST_CASE("several are one that includes them in their order, each with its own files") {
  const auto text =
      compose_recipe("[" + whole("version: 2\nfiles: {a.j2: one}\nstates: []\n") + "," + kPlainState + "," +
                     whole("version: 2\nfiles: {a.j2: two}\nstates: []\n") + "]");
  REQUIRE(text);
  CHECK(text->text == R"({"version":2,"states":[{"include":"1/recipe.yaml"},)"
                      R"({"id":"p","module":"meta.comment","parameter":{"comment":"x ${{ '${{' }} y }}"}},)"
                      R"({"include":"2/recipe.yaml"}]})");
  REQUIRE(text->files);
  CHECK(*text->files->file("1/a.j2") == "one");
  CHECK(*text->files->file("2/a.j2") == "two");
  CHECK(text->files->file("1/recipe.yaml")->find("version: 2") == 0);
  CHECK(!text->files->file("a.j2"));
}

TEST_CASE("a file that a recipe brings never takes the place of the recipe itself") {
  const auto text =
      compose_recipe("[" + whole("version: 2\nfiles: {recipe.yaml: one, _recipe.yaml: two}\nstates: []\n") +
                     "," + kPlainState + "]");
  REQUIRE(text);
  CHECK(text->text.find(R"({"include":"1/__recipe.yaml"})") != std::string::npos);
  CHECK(text->files->file("1/__recipe.yaml")->find("version: 2") == 0);
  CHECK(*text->files->file("1/recipe.yaml") == "one");
}

TEST_CASE("what is no such list is an error and no recipe") {
  CHECK(!compose_recipe(R"({"content":1})"));
  CHECK(!compose_recipe("[" + whole("states: [") + "," + kPlainState + "]"));
}
