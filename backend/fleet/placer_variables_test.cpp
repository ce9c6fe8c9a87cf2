// What machines are given of variables, and who gets a new version by them.
#include <set>

#include "backend/fleet/delivery.hpp"
#include "tests/support/variable_bench.hpp"

using namespace backend;
using tests::given_to;
using tests::join_with_variables;
using tests::LayerKind;
using tests::must;
using tests::set_variables;
using tests::setting;
using tests::StoreBench;

namespace {

std::set<std::string> changed_by(StoreBench& bench, const fleet::Change& change = {}) {
  std::set<std::string> names;
  for (const auto& each : must(fleet::place_app(*bench, "default", change)).changed)
    names.insert(each.instance_id);
  return names;
}
std::string problem_at(StoreBench& bench, const std::string& name) {
  return must(bench->find_instance("default", name)).problem;
}

}  // namespace

STORE_TEST_CASE(
    "one recipe for fifty machines with fifty ports: who differs gets a version, and nobody else") {
  StoreBench bench;
  for (int i = 0; i < 50; ++i) {
    const std::string name = "m" + std::to_string(i);
    join_with_variables(bench, name, {{"role", i < 10 ? "db" : "web"}});
    set_variables(bench, setting(LayerKind::machine, name, {{"port", std::to_string(8000 + i)}}));
  }
  push_using(bench, "web", tests::using_variables({"port"}));
  bench.assign("*", "web");
  CHECK(changed_by(bench).size() == 50);
  CHECK(given_to(bench, "m7") == R"({"port":8007})");
  CHECK(changed_by(bench).empty());
  // Only one differs by this.
  set_variables(bench, setting(LayerKind::machine, "m7", {{"port", "9007"}}));
  CHECK(changed_by(bench) == std::set<std::string>{"m7"});
  CHECK(given_to(bench, "m7") == R"({"port":9007})");
  // Nobody: the recipe does not read it, and what is stronger hides it.
  set_variables(bench, setting(LayerKind::app, "", {{"other", "1"}, {"port", "1"}}));
  CHECK(changed_by(bench).empty());
  // The states are there once.
  std::set<domain::PlacementKey> bases;
  for (int i = 0; i < 50; ++i) {
    const auto placement =
        must(bench->find_placement(must(bench->find_instance("default", "m" + std::to_string(i))).placement));
    CHECK(placement.states.empty());
    bases.insert(placement.base);
  }
  CHECK(bases.size() == 1);
  CHECK(must(bench->find_placement(*bases.begin())).states.find("meta.comment") != std::string::npos);
}

STORE_TEST_CASE("what is unset gives way to what is weaker") {
  StoreBench bench;
  join_with_variables(bench, "web1", {{"role", "web"}});
  push_using(bench, "web", tests::using_variables({"nginx"}));
  bench.assign("*", "web");
  set_variables(bench, setting(LayerKind::app, "", {{"nginx", R"({"port":80,"user":"www"})"}}));
  set_variables(bench, setting(LayerKind::selector, "role=web", {{"nginx", R"({"port":81})"}}));
  changed_by(bench);
  CHECK(given_to(bench, "web1") == R"({"nginx":{"port":81,"user":"www"}})");
  auto unset = setting(LayerKind::selector, "role=web", {});
  unset.edits.unset = {"nginx"};
  set_variables(bench, unset);
  CHECK(changed_by(bench).size() == 1);
  CHECK(given_to(bench, "web1") == R"({"nginx":{"port":80,"user":"www"}})");
}

STORE_TEST_CASE("operators' tags count as variables do, and what a machine says of itself is never given") {
  StoreBench bench;
  const auto session = join_with_variables(bench, "web1", {{"role", "web"}}, {{"claim", "root"}});
  domain::RecipeInputs inputs{.are_needed = true, .tags = {"claim", "role"}};
  push_using(bench, "web", inputs);
  bench.assign("*", "web");
  bench.trust(domain::SelfTrust::all);
  changed_by(bench);
  const auto tags = [&] {
    return must(bench->find_placement(must(bench->find_instance("default", "web1")).placement)).tags;
  };
  CHECK(tags() == R"({"role":"web"})");
  must(bench->set_operator_tags(session.instance, {{"role", "db"}, {"unread", "x"}}));
  CHECK(must(fleet::place_instance(*bench, session.instance)).changed.size() == 1);
  CHECK(tags() == R"({"role":"db"})");
  must(bench->set_operator_tags(session.instance, {{"role", "db"}, {"unread", "y"}}));
  CHECK(must(fleet::place_instance(*bench, session.instance)).changed.empty());
}

STORE_TEST_CASE("an agent that knows nothing of variables is not given what it would misunderstand") {
  StoreBench bench;
  join_with_variables(bench, "new");
  bench.join("old");
  push_using(bench, "web", {.are_needed = true});
  bench.assign("*", "web");
  CHECK(changed_by(bench) == std::set<std::string>{"new"});
  CHECK(problem_at(bench, "old").find("knows nothing of expressions and variables") != std::string::npos);
  CHECK(problem_at(bench, "old").find("1.2.3") != std::string::npos);
  // It is updated and comes again.
  auto hello = StoreBench::handshake("old");
  hello.capabilities = {"vars"};
  const auto admitted = bench.admit(hello);
  CHECK(admitted.tags_changed);
  CHECK(must(fleet::place_instance(*bench, admitted.session.instance)).changed.size() == 1);
  CHECK(problem_at(bench, "old").empty());
}

STORE_TEST_CASE("a push names the machines that have no value, and the others go on") {
  StoreBench bench;
  join_with_variables(bench, "web1");
  join_with_variables(bench, "web2");
  set_variables(bench, setting(LayerKind::machine, "web1", {{"port", "80"}}));
  domain::RecipeInputs inputs{.are_needed = true,
                              .variables = {{.name = "port", .is_used = true, .is_required = true}}};
  push_using(bench, "web", inputs);
  bench.assign("*", "web");
  const auto placed = must(fleet::place_app(*bench, "default", {.recipe = "web"}));
  CHECK(placed.changed.size() == 1);
  REQUIRE(placed.rejected.size() == 1);
  CHECK(placed.rejected[0].instance_id == "web2");
  CHECK(placed.rejected[0].reason.find("no value for the variable 'port'") != std::string::npos);
}

STORE_TEST_CASE("a change of variables that takes its recipe from a machine is refused as a whole") {
  StoreBench bench;
  join_with_variables(bench, "web1");
  join_with_variables(bench, "web2");
  domain::RecipeInputs inputs{.are_needed = true,
                              .variables = {{.name = "port", .is_used = true, .is_required = true}}};
  push_using(bench, "web", inputs);
  bench.assign("*", "web");
  set_variables(bench, setting(LayerKind::app, "", {{"port", "80"}}));
  set_variables(bench, setting(LayerKind::machine, "web1", {{"port", "81"}}));
  changed_by(bench);
  auto unset = setting(LayerKind::app, "", {});
  unset.edits.unset = {"port"};
  const auto refused = bench->transact([&]() -> base::Result<void> {
    const auto layer = set_variables(bench, unset);
    auto placed = fleet::place_app(*bench, "default", {.layer = layer.id});
    if (!placed) return std::move(placed).error();
    return {};
  });
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("instance 'web2': it has no value") == 0);
  CHECK(given_to(bench, "web2") == R"({"port":80})");
  CHECK(problem_at(bench, "web2").empty());
}

STORE_TEST_CASE("a machine that lies about itself keeps nobody from setting variables") {
  StoreBench bench;
  bench.trust(domain::SelfTrust::all);
  join_with_variables(bench, "web1", {{"role", "web"}});
  join_with_variables(bench, "liar", {}, {{"role", "db"}});
  push_using(bench, "web", tests::using_variables({"port"}));
  domain::RecipeInputs strict{
      .are_needed = true,
      .variables = {
          {.name = "port", .is_used = true, .is_required = true, .declaration = R"({"type":"text"})"}}};
  if (domain::problem_of_value(strict.variables[0], "80").empty())
    strict.variables[0].declaration = R"({"type":"string"})";
  push_using(bench, "db", strict, "b");
  bench.assign("role=web", "web");
  bench.assign("role=db", "db");
  changed_by(bench);
  const auto layer = set_variables(bench, setting(LayerKind::app, "", {{"port", "80"}}));
  const auto placed = fleet::place_app(*bench, "default", {.layer = layer.id});
  REQUIRE_MESSAGE(placed, placed.error().message());
  CHECK(given_to(bench, "web1") == R"({"port":80})");
}

STORE_TEST_CASE("machines that differ in variables alone are told the same states") {
  StoreBench bench;
  const auto one = join_with_variables(bench, "m1"), two = join_with_variables(bench, "m2");
  set_variables(bench, setting(LayerKind::machine, "m1", {{"port", "1"}}));
  set_variables(bench, setting(LayerKind::machine, "m2", {{"port", "2"}}));
  push_using(bench, "web", tests::using_variables({"port"}));
  bench.assign("*", "web");
  auto delivery = must(fleet::prepare_delivery(*bench, must(fleet::place_app(*bench, "default"))));
  REQUIRE(delivery.changed.size() == 2);
  const auto& first = delivery.contents.at(delivery.changed[0].placement);
  const auto& second = delivery.contents.at(delivery.changed[1].placement);
  CHECK(first->text == second->text);
  CHECK(first->states == second->states);
  CHECK(first->shared == second->shared);
  CHECK(first->placement.vars != second->placement.vars);
  CHECK(first->placement.digest != second->placement.digest);
  CHECK(one.instance != two.instance);
}

STORE_TEST_CASE("placements that nobody runs go, and their states last") {
  StoreBench bench;
  join_with_variables(bench, "m1");
  set_variables(bench, setting(LayerKind::machine, "m1", {{"port", "1"}}));
  push_using(bench, "web", tests::using_variables({"port"}));
  bench.assign("*", "web");
  changed_by(bench);
  CHECK(must(bench->remove_unused_placements(100)) == 0);
  set_variables(bench, setting(LayerKind::machine, "m1", {{"port", "2"}}));
  changed_by(bench);
  CHECK(must(bench->remove_unused_placements(100)) == 1);
  CHECK(given_to(bench, "m1") == R"({"port":2})");
  CHECK(must(fleet::place_app(*bench, "default")).changed.empty());
}
