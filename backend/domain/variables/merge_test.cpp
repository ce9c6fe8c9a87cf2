#include "backend/domain/variables/merge.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "base/values/json.hpp"

using namespace backend::domain;

namespace {

VariableLayer layer_with(LayerKind kind, std::string target, std::int64_t order,
                         std::vector<std::pair<std::string, std::string>> values,
                         std::string author = "ann") {
  static std::int64_t last = 0;
  VariableLayer layer{.id = ++last, .app_id = "shop", .kind = kind, .target = std::move(target)};
  layer.order = order;
  for (auto& [name, value] : values)
    layer.variables.push_back({.name = name, .value = value, .author = author, .at = layer.id});
  return layer;
}

std::string merged(std::vector<std::string_view> texts) {
  return merge_values(texts);
}

}  // namespace

TEST_CASE("mappings are merged key by key, and anything else is replaced") {
  CHECK(merged({"1", "2"}) == "2");
  CHECK(merged({R"({"a":1,"b":{"x":1}})", R"({"b":{"y":[1,2]},"c":null})"}) ==
        R"({"a":1,"b":{"x":1,"y":[1,2]},"c":null})");
  CHECK(merged({R"({"a":[1,2]})", R"({"a":[3]})"}) == R"({"a":[3]})");
  CHECK(merged({R"({"a":{"b":1}})", R"({"a":7})"}) == R"({"a":7})");
  CHECK(merged({R"({"a":7})", R"({"a":{"b":1}})"}) == R"({"a":{"b":1}})");
  CHECK(merged({R"([1])", R"({"a":1})"}) == R"({"a":1})");
  CHECK(merged({R"({"a":1})", "{}"}) == R"({"a":1})");
  CHECK(merged({R"({"a":1})", "null"}) == "null");
  CHECK(merged({}) == "null");
}

TEST_CASE("a scalar between two mappings takes what is below it away") {
  CHECK(merged({R"({"a":1})", "5", R"({"b":2})"}) == R"({"b":2})");
}

TEST_CASE("keys stay in the order of the weakest layer that has them") {
  CHECK(merged({R"({"z":1,"a":2})", R"({"a":3,"m":4,"z":5})"}) == R"({"z":5,"a":3,"m":4})");
}

TEST_CASE("merging again what was merged changes nothing") {
  const std::string once = merged({R"({"a":{"x":1}})", R"({"a":{"y":2}})", R"({"a":{"x":[]}})"});
  CHECK(merged({once, once}) == once);
}

TEST_CASE("the app is weaker than selectors, those go by order and then by age, and the machine wins") {
  std::vector<VariableLayer> layers{
      layer_with(LayerKind::machine, "web1", 0, {}), layer_with(LayerKind::selector, "b", 10, {}),
      layer_with(LayerKind::selector, "a", 5, {}),   layer_with(LayerKind::app, "", 0, {}),
      layer_with(LayerKind::selector, "c", 5, {}),
  };
  sort_layers(layers);
  std::string order;
  for (const VariableLayer& each : layers)
    order += std::string(name_of(each.kind)) + ":" + each.target + " ";
  CHECK(order == "app: selector:a selector:c selector:b machine:web1 ");
}

TEST_CASE("each leaf is of the strongest layer that has it, with who set it") {
  const VariableLayer app = layer_with(LayerKind::app, "", 0,
                                       {{"nginx", R"({"port":80,"user":"www"})"}, {"zone", "\"eu\""}}, "ann");
  const VariableLayer web =
      layer_with(LayerKind::selector, "role=web", 0, {{"nginx", R"({"tls":{}})"}}, "bob");
  const VariableLayer one = layer_with(LayerKind::machine, "web1", 0, {{"nginx", R"({"port":81})"}}, "eve");
  const std::vector<const VariableLayer*> layers{&app, &web, &one};
  const auto leaves = explain_variables(layers);
  REQUIRE(leaves);
  std::string told;
  for (const ExplainedLeaf& leaf : *leaves)
    told += leaf.path + "=" + leaf.value + " " + std::to_string(leaf.layer) + " " + leaf.author + "\n";
  CHECK(told ==
        "nginx.port=81 2 eve\n"
        "nginx.user=\"www\" 0 ann\n"
        "nginx.tls={} 1 bob\n"
        "zone=\"eu\" 0 ann\n");
}

TEST_CASE("what is explained is what is merged") {
  const VariableLayer weak = layer_with(LayerKind::app, "", 0, {{"a", R"({"x":{"y":1},"k":[1]})"}});
  const VariableLayer strong = layer_with(LayerKind::machine, "m", 0, {{"a", R"({"x":{"z":2},"k":3})"}});
  const std::vector<const VariableLayer*> layers{&weak, &strong};
  const std::string together = merged({weak.variables[0].value, strong.variables[0].value});
  CHECK(together == R"({"x":{"y":1,"z":2},"k":3})");
  const auto leaves = *explain_variables(layers);
  REQUIRE(leaves.size() == 3);
  CHECK(leaves[0].path == "a.x.y");
  CHECK(leaves[1].path == "a.x.z");
  CHECK(leaves[2].value == "3");
}

TEST_CASE("what would be very long when it is explained is refused, and can be asked for by name") {
  // The path to each leaf has the whole long key in it.
  std::string inner;
  for (int i = 0; i < 3000; ++i)
    inner += (i == 0 ? "\"a" : ",\"a") + std::to_string(i) + "\":1";
  const std::string large = "{\"" + std::string(32'000, 'k') + "\":{" + inner + "}}";
  REQUIRE(large.size() < kLargestVariable);
  const VariableLayer one =
      layer_with(LayerKind::machine, "m", 0, {{"large", large}, {"small", R"({"x":1,"y":2})"}});
  const std::vector<const VariableLayer*> layers{&one};
  const auto all = explain_variables(layers);
  REQUIRE_FALSE(all);
  CHECK(all.error().message().find("ask for one variable") != std::string::npos);
  CHECK_FALSE(explain_variables(layers, "large"));
  CHECK(explain_variables(layers, "small")->size() == 2);
}
