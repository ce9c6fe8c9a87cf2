#include "backend/domain/variables/recipe_inputs.hpp"

#include <algorithm>
#include <chrono>

#include <doctest/doctest.h>

using namespace backend::domain;

namespace {

VariableLayer layer_of(LayerKind kind, std::vector<std::pair<std::string, std::string>> values) {
  VariableLayer layer{.app_id = "shop", .kind = kind};
  for (auto& [name, value] : values)
    layer.variables.push_back({.name = name, .value = value});
  return layer;
}

const RecipeInputs kWeb{.are_needed = true,
                        .variables = {{.name = "debug"},
                                      {.name = "port",
                                       .is_used = true,
                                       .declaration = R"({"type":"integer","min":1,"max":65535})",
                                       .fallback = "80"},
                                      {.name = "zone",
                                       .is_used = true,
                                       .is_required = true,
                                       .declaration = R"({"type":"text"})"}},
                        .tags = {"role"}};

base::Result<FilledInputs> filled(const RecipeInputs& recipe, const std::vector<VariableLayer>& layers,
                                  const Tags& tags = {}) {
  const std::vector<const RecipeInputs*> recipes{&recipe};
  std::vector<const VariableLayer*> all;
  for (const VariableLayer& each : layers)
    all.push_back(&each);
  return fill_inputs(recipes, all, tags);
}

}  // namespace

TEST_CASE("what a recipe needs is read as it was written") {
  CHECK(to_json(RecipeInputs()).empty());
  CHECK(read_recipe_inputs("") == RecipeInputs());
  CHECK(read_recipe_inputs(to_json(kWeb)) == kWeb);
  RecipeInputs all{.are_needed = true, .uses_all_variables = true, .uses_all_tags = true};
  CHECK(read_recipe_inputs(to_json(all)) == all);
}

TEST_CASE("a machine is given the variables that its recipes use, merged, and no others") {
  const auto given = filled(
      kWeb,
      {layer_of(LayerKind::app, {{"port", "80"}, {"zone", "\"eu\""}, {"other", "1"}, {"debug", "true"}}),
       layer_of(LayerKind::machine, {{"port", "8080"}})},
      {{"role", "web"}, {"rack", "7"}});
  REQUIRE(given);
  CHECK(given->vars == R"({"port":8080,"zone":"eu"})");
  CHECK(given->tags == R"({"role":"web"})");
}

TEST_CASE("where a recipe computes which variables it reads, it gets all") {
  RecipeInputs all{.are_needed = true, .uses_all_variables = true, .uses_all_tags = true};
  const auto given = filled(all, {layer_of(LayerKind::app, {{"b", "1"}, {"a", "2"}})}, {{"rack", "7"}});
  REQUIRE(given);
  CHECK(given->vars == R"({"a":2,"b":1})");
  CHECK(given->tags == R"({"rack":"7"})");
}

TEST_CASE("nothing is given to a recipe that uses nothing") {
  const auto given = filled({.are_needed = true}, {layer_of(LayerKind::app, {{"b", "1"}})}, {{"rack", "7"}});
  REQUIRE(given);
  CHECK(given->vars.empty());
  CHECK(given->tags.empty());
}

TEST_CASE("a variable that is missing or wrong is refused, with what to do") {
  const auto missing = filled(kWeb, {layer_of(LayerKind::app, {{"port", "80"}})});
  REQUIRE(!missing);
  CHECK(missing.error().message().find("no value for the variable 'zone'") != std::string::npos);
  CHECK(missing.error().message().find("opsctl var set zone=VALUE") != std::string::npos);
  const auto wrong = filled(kWeb, {layer_of(LayerKind::app, {{"port", "\"eighty\""}, {"zone", "\"eu\""}})});
  REQUIRE(!wrong);
  CHECK(wrong.error().message().find("the variable 'port' must be an integer") != std::string::npos);
}

TEST_CASE("what is declared of a value is held against it") {
  const RecipeVariable port{.name = "port", .declaration = R"({"type":"integer","min":1,"max":9})"};
  for (const char* good : {"1", "9"})
    CHECK_MESSAGE(problem_of_value(port, good).empty(), good);
  CHECK(problem_of_value(port, "\"5\"").empty());  // as the agent takes it
  for (const char* bad : {"0", "10", "\"10\"", "1.5", "\"five\"", "null", "[]", "{}"})
    CHECK_MESSAGE(!problem_of_value(port, bad).empty(), bad);
  const RecipeVariable mode{.name = "mode", .declaration = R"({"type":"text","choices":["on","off"]})"};
  CHECK(problem_of_value(mode, "\"on\"").empty());
  CHECK(!problem_of_value(mode, "\"maybe\"").empty());
  CHECK(problem_of_value({.name = "free"}, "[1]").empty());
}

TEST_CASE("a machine is given so many bytes of variables and no more") {
  RecipeInputs all{.are_needed = true, .uses_all_variables = true};
  std::vector<VariableLayer> layers;
  for (int l = 0; l < 3; ++l) {
    std::vector<std::pair<std::string, std::string>> values;
    for (int i = 0; i < 3; ++i)
      values.emplace_back("v" + std::to_string(l) + std::to_string(i),
                          '"' + std::string(kLargestVariable - 2, 'x') + '"');
    layers.push_back(layer_of(LayerKind::selector, std::move(values)));
  }
  const auto large = filled(all, layers);
  REQUIRE(!large);
  CHECK(large.error().message().find("at most") != std::string::npos);
}

TEST_CASE("what a recipe uses and declares is read from its text") {
  const auto read = inputs_of_recipe(
      "version: 2\nvars:\n  port: { type: integer, min: 1, default: 80, doc: where it listens }\n"
      "  zone: { type: string }\n  sites: [{ name: shop, tls: true, mode: 0644, weight: 1.5 }]\n  unread: 1\n"
      "states:\n- id: a\n  module: meta.comment\n  parameter:\n"
      "    comment: ${{ vars.port }} ${{ vars.name }} ${{ vars.extra | default('x') }} ${{ tags.role }} "
      "${{ facts.os.id }}\n");
  REQUIRE_MESSAGE(read, read.error().message());
  CHECK(read->are_needed);
  CHECK_FALSE(read->uses_all_variables);
  CHECK(read->tags == std::vector<std::string>{"role"});
  std::string told;
  for (const RecipeVariable& each : read->variables)
    told += each.name + (each.is_used ? " used" : "") + (each.is_required ? " required" : "") + " " +
            each.fallback + "\n";
  CHECK(told ==
        "extra used \nname used required \nport used 80\n"
        "sites [{\"name\":\"shop\",\"tls\":true,\"mode\":\"0644\",\"weight\":1.5}]\nunread 1\nzone required "
        "\n");
  CHECK(read_recipe_inputs(to_json(*read)) == *read);
}

TEST_CASE("a recipe without expressions needs nothing, whatever its text looks like") {
  const auto plain =
      inputs_of_recipe("states:\n- {id: a, module: meta.comment, parameter: {comment: '${{ vars.x }}'}}\n");
  REQUIRE(plain);
  CHECK(*plain == RecipeInputs());
  CHECK_FALSE(inputs_of_recipe(
      "version: 2\nstates:\n- {id: a, module: meta.comment, parameter: {comment: '${{ vars. }}'}}\n"));
}

TEST_CASE("a recipe that names many variables and many layers that have others are put together in time") {
  RecipeInputs many{.are_needed = true};
  for (int i = 0; i < 20'000; ++i)
    many.variables.push_back({.name = "a" + std::to_string(i), .is_used = true});
  std::ranges::sort(many.variables, {}, &RecipeVariable::name);
  std::vector<VariableLayer> layers;
  for (int l = 0; l < 500; ++l) {
    std::vector<std::pair<std::string, std::string>> values;
    for (int i = 0; i < 500; ++i)
      values.emplace_back("z" + std::to_string(i), std::to_string(l));
    layers.push_back(layer_of(LayerKind::selector, std::move(values)));
  }
  layers.front().variables.front() = {.name = "a0", .value = "7"};
  const auto begun = std::chrono::steady_clock::now();
  const auto given = filled(many, layers);
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(3));
  REQUIRE(given);
  CHECK(given->vars == R"({"a0":7})");
}
