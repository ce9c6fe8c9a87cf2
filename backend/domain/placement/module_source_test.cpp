#include "backend/domain/placement/module_source.hpp"

#include <doctest/doctest.h>

#include "backend/domain/placement/recipe_check.hpp"

using namespace backend::domain;

TEST_CASE("a recipe names where its modules come from, in YAML and in JSON") {
  const auto yaml = read_named_modules("module: { repo: git@h:ops/m.git, tag: 1.10 }\nstates: []\n");
  REQUIRE(yaml.source);
  CHECK(yaml.source->repo == "git@h:ops/m.git");
  CHECK(yaml.source->tag == "1.10");  // as it is written, though YAML could take it for a number
  CHECK(yaml.position.line == 1);
  const auto json = read_named_modules(
      R"({"module":{"repo":"https://h/m","tag":"v1","commit":"0123456789abcdef0123456789abcdef01234567"},"states":[]})");
  REQUIRE(json.source);
  CHECK(json.source->commit.size() == 40);
  CHECK_FALSE(read_named_modules("states: []").source);
  CHECK_FALSE(read_named_modules("module:\nstates: []").source);
  CHECK_FALSE(read_named_modules("[]").source);
  CHECK(read_named_modules("{ nonsense").problems.empty());  // the check of the recipe says that
}

TEST_CASE("states of modules that nobody could look at are taken as they are written") {
  const char* const content = R"(
states:
  - { id: a, module: acme.motd, parameter: { path: /etc/motd, count: 0644, list: [1, b], "on": yes } }
  - { id: b, module: meta.nonsense, parameter: {} }
)";
  const RecipeModules unknown{.why = "the server is away"};
  auto checked = check_recipe(content, &unknown);
  // What begins with "meta." is the engine's, and no module can have the name.
  REQUIRE(checked.problems.size() == 1);
  CHECK(checked.problems[0].message.find("Unsupported module 'meta.nonsense'") == 0);
  const std::string without(content, std::string_view(content).find("  - { id: b"));
  checked = check_recipe(without, &unknown);
  REQUIRE_MESSAGE(checked.problems.empty(), checked.problems[0].message);
  CHECK(
      checked.states ==
      R"([{"id":"a","module":"acme.motd","parameter":{"path":"/etc/motd","count":"0644","list":["1","b"],"on":"yes"}}])");
  REQUIRE(checked.warnings.size() == 1);
  CHECK(checked.warnings[0].message ==
        "1 state is not checked, and the agents will (acme.motd): the server is away");
  CHECK(checked.foreign == std::vector<std::string>{"acme.motd"});
  // Without a repository it is a name that nobody knows.
  CHECK(check_recipe(without).problems.size() == 1);
}
