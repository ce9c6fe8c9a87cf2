#include "backend/domain/placement/placement.hpp"

#include <doctest/doctest.h>

#include "tests/support/store_bench.hpp"

namespace {

using backend::domain::PlacedInstance;
using backend::domain::StateList;
using tests::must;

using List = std::shared_ptr<const StateList>;

// "x" is an ordinary state, "x<b/y,c/z" waits for those two, "x<role=db:y" for a selector's.
List listed(const std::vector<std::string>& written) {
  std::string json = "[";
  for (const std::string& each : written) {
    if (json.size() > 1) json += ',';
    const std::size_t arrow = each.find('<');
    json += "{\"id\":\"" + each.substr(0, arrow) + "\",\"module\":";
    if (arrow == std::string::npos) {
      json += "\"meta.comment\"}";
      continue;
    }
    const std::string target = each.substr(arrow + 1);
    const std::size_t colon = target.find(':');
    json += "\"meta.wait\",\"parameter\":{\"state\":[";
    json += colon == std::string::npos ? "\"" + target + "\""
                                       : "{\"selector\":\"" + target.substr(0, colon) + "\",\"state_id\":\"" +
                                             target.substr(colon + 1) + "\"}";
    json += "]}}";
  }
  return must(backend::domain::read_states(json + "]"));
}

PlacedInstance instance(const std::string& id, List list, backend::domain::Tags tags = {}) {
  return {id, std::move(tags), std::move(list)};
}

std::string problem(const std::vector<PlacedInstance>& instances, const std::vector<List>& assigned = {}) {
  const auto checked = backend::domain::check_waits("default", instances, assigned);
  return checked ? "" : checked.error().message();
}

std::string problem_of(std::string_view state) {
  const auto read = backend::domain::read_states(
      "[{\"id\":\"w\",\"module\":\"meta.wait\",\"parameter\":{\"state\":" + std::string(state) + "}}]");
  return read ? "" : read.error().message();
}

}  // namespace

TEST_CASE("lists of states are put one behind the other") {
  CHECK(backend::domain::concatenate_states(std::array<std::string_view, 3>{"[1,2]", "[]", "[3]"}) ==
        "[1,2,3]");
  CHECK(backend::domain::concatenate_states({}) == "[]");
  CHECK(listed({"a", "b"})->index.at("b") == 1);
  CHECK_FALSE(backend::domain::read_states(R"([{"id":"a"},{"id":"a"}])"));
}

TEST_CASE("what a wait waits for is written in several ways") {
  const auto list = must(backend::domain::read_states(
      R"([{"id":"w","module":"meta.wait","parameter":{"state":["db-1/a/b",{"instance_id":"c","state_id":"d"},
      {"selector":"role=db","id":"e"}]}},{"id":"v","module":"meta.wait","parameter":{"state":"x/y"}}])"));
  REQUIRE(list->waits.size() == 2);
  const auto& targets = list->waits[0].targets;
  REQUIRE(targets.size() == 3);
  CHECK(targets[0].instance_id == "db-1");
  CHECK(targets[0].state_id == "a/b");
  CHECK(targets[1].instance_id == "c");
  CHECK(targets[2].selector->text() == "role=db");
  CHECK(targets[2].state_id == "e");
  CHECK(list->waits[1].targets[0].instance_id == "x");
}

TEST_CASE("a wait that is not understood is refused") {
  CHECK(problem_of("[]") == "wait state 'w': it waits for nothing: its 'state' is empty");
  CHECK(problem_of("[\"db\"]") == "wait state 'w': 'db' is not \"<instance_id>/<state_id>\"");
  CHECK(problem_of("[{\"state_id\":\"x\"}]").find("either an 'instance_id' or a 'selector'") !=
        std::string::npos);
  CHECK(problem_of("[{\"selector\":\"role=\",\"state_id\":\"x\"}]") ==
        "wait state 'w': selector: at 6: expected a value");
  CHECK(problem_of("[{\"selector\":\"fact.os.id=x\",\"state_id\":\"x\"}]").find("not facts") !=
        std::string::npos);
}

TEST_CASE("waits that can come true are accepted") {
  const auto db = listed({"install", "schema"});
  const auto web = listed({"base", "wait<db/schema", "app"});
  CHECK(problem({instance("db", db), instance("web", web)}) == "");
  // Each waits for something that the other does before it waits.
  CHECK(problem({instance("a", listed({"x", "w<b/y", "z"})), instance("b", listed({"y", "v<a/x"}))}) == "");
}

TEST_CASE("a cycle of waits across machines is refused and printed") {
  CHECK(problem({instance("a", listed({"x<b/y"})), instance("b", listed({"y<a/x"}))}) ==
        "a wait that can never end: a/x → b/y → a/x");
  // A wait holds up everything that comes after it on its machine.
  CHECK(problem({instance("a", listed({"w<b/y", "x"})), instance("b", listed({"v<a/x", "y"}))}) ==
        "a wait that can never end: a/w → b/y → b/v → a/x → a/w");
  CHECK(problem({instance("a", listed({"w<a/x", "x"}))}) == "a wait that can never end: a/w → a/x → a/w");
  const std::string three =
      problem({instance("a", listed({"w<b/x", "x"})), instance("b", listed({"w<c/x", "x"})),
               instance("c", listed({"first", "w<a/x", "x"}))});
  CHECK(three.starts_with("a wait that can never end: "));
  CHECK(three.find("c/w → a/x → a/w") != std::string::npos);
}

TEST_CASE("a cycle through a selector or through machines with equal recipes is found") {
  const auto barrier = listed({"w<role=db:ready", "ready"});
  CHECK(problem({instance("a", barrier, {{"role", "db"}})}) ==
        "a wait that can never end: a/w → a/ready → a/w");
  CHECK(problem({instance("a", barrier), instance("b", listed({"ready"}), {{"role", "db"}})}) == "");
  const auto after = listed({"ready", "w<role=db:ready"});  // all have to be there before any goes on
  CHECK(problem({instance("a", after, {{"role", "db"}}), instance("b", after, {{"role", "db"}})}) == "");
  const auto web = listed({"w<db2/x", "y"});
  CHECK(problem({instance("web1", web), instance("web2", web), instance("db1", listed({"x"})),
                 instance("db2", listed({"v<web2/y", "x"}))}) ==
        "a wait that can never end: web2/w → db2/x → db2/v → web2/y → web2/w");
}

TEST_CASE("a wait for a state that nobody has is refused") {
  const auto web = listed({"w<db/schema"});
  CHECK(problem({instance("web", web)}) ==
        "web/w waits for db/schema, but no assigned recipe has that state");
  CHECK(problem({instance("web", web), instance("db", listed({"other"}))}) ==
        "web/w waits for db/schema, but that instance has no such state");
  CHECK(problem({instance("web", web), instance("db", nullptr)}) ==
        "web/w waits for db/schema, but that instance has no such state");
  // It may join later.
  CHECK(problem({instance("web", web)}, {web, listed({"schema"})}) == "");
  const auto selecting = listed({"w<role=db:schema"});
  CHECK(problem({instance("web", selecting)}) ==
        "web/w waits for role=db/schema, but no assigned recipe has that state");
  CHECK(problem({instance("web", selecting)}, {listed({"schema"})}) == "");
}

TEST_CASE("a chain of waits through a thousand machines is no cycle, and is found to be none") {
  std::vector<PlacedInstance> chain;
  for (int i = 0; i < 1000; ++i)
    chain.push_back(instance("m" + std::to_string(i),
                             i == 0 ? listed({"x"}) : listed({"w<m" + std::to_string(i - 1) + "/x", "x"})));
  CHECK(problem(chain) == "");
  chain[0].states = listed({"w<m999/x", "x"});
  CHECK(problem(chain).starts_with("a wait that can never end: "));
}
