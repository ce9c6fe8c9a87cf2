#include "backend/domain/variables/variable.hpp"

#include <doctest/doctest.h>

#include "base/values/json.hpp"

using namespace backend::domain;

namespace {

base::Result<std::string> kept(const std::string& json) {
  base::Arena arena;
  const auto read = base::parse_json(json, arena);
  REQUIRE(std::holds_alternative<base::Value>(read));
  return to_variable(std::get<base::Value>(read));
}

VariableLayer edited(const VariableLayer& before, const VariableEdits& edits,
                     std::string_view author = "ann") {
  auto done = edit_variables(before, edits, author, 5);
  REQUIRE(done);
  return done->layer;
}

const VariableLayer kEmptyLayer{.id = 7, .app_id = "shop", .kind = LayerKind::machine, .target = "web1"};

}  // namespace

TEST_CASE("names of variables are what an expression can say after a dot") {
  for (const char* good : {"port", "_x", "A9_", "sites"})
    CHECK_MESSAGE(problem_of_variable_name(good).empty(), good);
  for (const char* bad : {"", "9x", "a-b", "a.b", "a b", "ä", "a\n"})
    CHECK_MESSAGE(!problem_of_variable_name(bad).empty(), bad);
  CHECK(problem_of_variable_name(std::string(kLongestVariableName, 'a')).empty());
  CHECK(!problem_of_variable_name(std::string(kLongestVariableName + 1, 'a')).empty());
}

TEST_CASE("values keep their types, and their size and depth are bounded") {
  CHECK(*kept(R"( { "a" : [ 1, 2.5, true, null, "x" ] } )") == R"({"a":[1,2.5,true,null,"x"]})");
  CHECK(kept('"' + std::string(kLargestVariable - 2, 'a') + '"'));
  CHECK(!kept('"' + std::string(kLargestVariable - 1, 'a') + '"'));
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(kept(nested(kDeepestVariable)));
  CHECK(!kept(nested(kDeepestVariable + 1)));
}

TEST_CASE("a change says what was before and after, and what is set to the same is no change") {
  const VariableLayer one = edited(kEmptyLayer, {.set = {{"port", "80"}, {"zone", "\"eu\""}}});
  CHECK(one.variables.size() == 2);
  auto same = edit_variables(one, {.set = {{"port", "80"}}}, "bob", 9);
  REQUIRE(same);
  CHECK(same->changes.empty());
  CHECK(same->layer.find("port")->author == "ann");

  auto changed = edit_variables(one, {.set = {{"port", "81"}}, .unset = {"zone", "never_was"}}, "bob", 9);
  REQUIRE(changed);
  REQUIRE(changed->changes.size() == 2);
  CHECK(changed->changes[0].name == "port");
  CHECK(changed->changes[0].before == "80");
  CHECK(changed->changes[0].after == "81");
  CHECK(changed->changes[0].author == "bob");
  CHECK(changed->changes[1].name == "zone");
  CHECK(!changed->changes[1].after);
  CHECK(changed->layer.find("port")->author == "bob");
}

TEST_CASE("replacing all takes away what is not named") {
  const VariableLayer one = edited(kEmptyLayer, {.set = {{"a", "1"}, {"b", "2"}}});
  const VariableLayer other = edited(one, {.set = {{"b", "2"}}, .replaces_all = true});
  REQUIRE(other.variables.size() == 1);
  CHECK(other.variables[0].name == "b");
}

TEST_CASE("a layer has so many variables and so many bytes") {
  VariableEdits many;
  for (std::size_t i = 0; i <= kMostVariables; ++i)
    many.set.emplace_back("v" + std::to_string(i), "1");
  CHECK(!edit_variables(kEmptyLayer, many, "ann", 1));
  many.set.pop_back();
  CHECK(edit_variables(kEmptyLayer, many, "ann", 1));
  VariableEdits large;
  for (int i = 0; i < 5; ++i)
    large.set.emplace_back("v" + std::to_string(i), '"' + std::string(kLargestVariable - 2, 'x') + '"');
  const auto refused = edit_variables(kEmptyLayer, large, "ann", 1);
  REQUIRE(!refused);
  CHECK(refused.error().message().find("bytes together") != std::string::npos);
}

TEST_CASE("what is called like a secret is found, however deep") {
  CHECK(find_secret_name("db_password", "\"x\"") == "db_password");
  CHECK(find_secret_name("db", R"({"user":"u","Password":"x"})") == "db.Password");
  CHECK(find_secret_name("db", R"([{"api_key":7}])") == "db[0].api_key");
  CHECK(find_secret_name("db", R"({"port":80})").empty());
  CHECK(find_secret_name("password_login", "false").empty());
}

TEST_CASE("a layer reaches its app, its selector, its machine") {
  CHECK(reach_of({.app_id = "a"}) == "*");
  CHECK(reach_of({.app_id = "a", .kind = LayerKind::selector, .target = "role=web"}) == "role=web");
  CHECK(reach_of(kEmptyLayer) == "instance=\"web1\"");
  CHECK(describe(kEmptyLayer) == "machine web1 in shop");
}
