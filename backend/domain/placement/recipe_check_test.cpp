#include "backend/domain/placement/recipe_check.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "base/files/file_read.hpp"
#include "base/values/json.hpp"
#include "builtins/builtins.hpp"
#include "tests/support/store_bench.hpp"

namespace {

using backend::domain::check_recipe;
using backend::domain::check_single_state;

std::string first_problem(std::string_view content) {
  const auto checked = check_recipe(content);
  return checked.problems.empty() ? "" : checked.problems[0].message;
}

// Bytes of a module's parameters, as far as they are values and not addresses, are compared through the
// module's own reading: what is read from the wire must be written to the very same wire again.
std::string again(const std::string& states) {
  const auto checked = check_recipe(states);
  REQUIRE_MESSAGE(checked.problems.empty(), checked.problems[0].message);
  return checked.states;
}

}  // namespace

TEST_CASE("for an app of version 1 a recipe is taken as far as it can be, and sent as it was written") {
  const std::string content = R"([
    {"id": "a", "module": "linux.file", "parameter": {"path": "/a", "colour": "red"}},
    {"id": "b", "module": "unheard.of", "parameter": {"x": [1, null]}, "when": {"moon": "full"}},
    {"id": "c", "module": "linux.file", "parameter": {"path": "/c", "mode": "999"}, "retries": 500}])";
  CHECK_FALSE(check_recipe(content).problems.empty());
  const auto checked = check_recipe(content, nullptr, true);
  REQUIRE_MESSAGE(checked.problems.empty(), checked.problems[0].message);
  CHECK(checked.warnings.size() == 5);
  CHECK(checked.state_count == 3);
  // What keeps a state from running must not get lost on the way.
  CHECK(checked.states.find(
            R"({"id":"b","module":"unheard.of","parameter":{"x":[1,null]},"when":{"moon":"full"}})") !=
        std::string::npos);
  CHECK(checked.states.find(R"("retries":500)") != std::string::npos);
  CHECK(checked.states.find(R"("colour":"red")") != std::string::npos);
  // Recipes of version 2 are strict all the same.
  CHECK_FALSE(check_recipe(R"({"version": 2, "states": )" + content + "}", nullptr, true).problems.empty());
}

TEST_CASE("a YAML recipe is the same on the wire as its twin in JSON") {
  const auto yaml = check_recipe(R"(
states:
  - id: f
    module: linux.file
    parameter: { path: /etc/x, content: 1.10, mode: 0644, user: no, absent: no, group: ~ }
    timeout: 60
    retries: 2
    sensitive: yes
    when: { path_exists: /etc, os: [debian] }
  - id: s
    module: linux.service
    parameter: { name: [nginx, { key: a, value: no }], watch: true }
  - id: c
    stateid: c
    module: meta.#
)");
  REQUIRE_MESSAGE(yaml.problems.empty(), yaml.problems[0].message);
  CHECK(yaml.syntax == "yaml");
  CHECK(yaml.state_count == 3);
  CHECK(
      yaml.states ==
      R"([{"id":"f","module":"linux.file","parameter":{"path":"/etc/x","content":"1.10","mode":"0644","user":"no",)"
      R"("absent":"no","group":null},"timeout":60,"retries":2,"when":{"path_exists":["/etc"],"os":["debian"]},)"
      R"("sensitive":true},{"id":"s","module":"linux.service","parameter":{"name":["nginx",{"key":"a","value":"no"}],)"
      R"("watch":true}},{"id":"c","module":"meta.comment","parameter":{}}])");
  CHECK(again(yaml.states) == yaml.states);
}

TEST_CASE("what a state has to do with others goes by their ids, and pattern by pattern") {
  const auto checked = check_recipe(R"(version: 2
continue_on_failure: true
states:
  - { id: vhost-a, module: meta.comment, continue_on_failure: false }
  - { id: vhost-b, module: meta.comment }
  - { id: c, module: linux.cmd, parameter: { cmd: "true" }, when: { os: [debian] }, once: v1,
      on_change_of: [vhost-*], require: vhost-a }
)");
  REQUIRE_MESSAGE(checked.problems.empty(), checked.problems[0].message);
  CHECK(
      checked.states ==
      R"([{"id":"vhost-a","module":"meta.comment","parameter":{}},)"
      R"({"id":"vhost-b","module":"meta.comment","parameter":{},"when":{"control":{"continue_on_failure":true}}},)"
      R"({"id":"c","module":"linux.cmd","parameter":{"cmd":"true"},"when":{"os":["debian"],"control":{)"
      R"("on_change_of":["vhost-a","vhost-b"],"require":["vhost-a"],"once":"v1","continue_on_failure":true}}}])");
  CHECK(again(checked.states) == checked.states);
}

TEST_CASE("every example means on the wire what its file means") {
  const states::Registry registry({states::native_states(), builtins::builtin_states()});
  std::size_t seen = 0;
  for (const auto& file : std::filesystem::directory_iterator(OPSAGENT_EXAMPLES)) {
    if (file.path().extension() != ".yaml") continue;
    ++seen;
    const auto content = tests::must(base::read_file(file.path(), 1 << 20));
    const auto checked = check_recipe(content);
    REQUIRE(checked.problems.empty());
    if (!checked.inputs.empty()) {  // it goes there as it is
      CHECK(checked.states.find("{\"syntax\":\"yaml\",\"content\":" + base::json_quote(content)) == 1);
      CHECK(backend::domain::read_states(checked.states));
      continue;
    }
    CHECK(again(checked.states) == checked.states);
    const auto from_file = recipe::load_text("a.yaml", content, registry).recipe;
    const auto from_wire = recipe::load_text("a.json", checked.states, registry).recipe;
    REQUIRE(from_file);
    REQUIRE(from_wire);
    REQUIRE(from_file->states().size() == from_wire->states().size());
    for (std::size_t i = 0; i < from_file->states().size(); ++i) {
      const recipe::State &a = from_file->states()[i], &b = from_wire->states()[i];
      CHECK(a.id == b.id);
      CHECK(a.type == b.type);
      CHECK(a.timeout == b.timeout);
      CHECK(a.retries == b.retries);
      CHECK(a.sensitive == b.sensitive);
      CHECK(a.when.has_value() == b.when.has_value());
      CHECK((a.control != nullptr) == (b.control != nullptr));
      // Every value is the same text, whichever of its spellings.
      for (const base::Member& member : a.parameter.members()) {
        const base::Value* other = b.parameter.find(member.key);
        REQUIRE(other);
        CHECK(base::to_json(member.value) == base::to_json(*other));
      }
    }
  }
  CHECK(seen >= 5);
}

TEST_CASE("an upload with problems is refused, all of them with their places") {
  const auto checked =
      check_recipe("states:\n  - id: a\n    module: linux.fil\n  - id: a\n    module: linux.dir\n");
  CHECK(checked.states.empty());
  REQUIRE(checked.problems.size() >= 2);
  CHECK(checked.problems[0].message == "Unsupported module 'linux.fil'; did you mean 'linux.file'?");
  CHECK(checked.problems[0].state_id == "a");
  CHECK(checked.problems[0].position.line == 3);
}

TEST_CASE("an id that no report could carry is refused at the upload") {
  const auto checked = check_recipe("states:\n  - id: \"a\u200bb\"\n    module: meta.comment\n");
  CHECK(checked.states.empty());
  REQUIRE(checked.problems.size() == 1);
}

TEST_CASE("a wait that is not understood is refused at the upload") {
  CHECK(first_problem("states: [{id: w, module: meta.wait, parameter: {state: [db]}}]") ==
        "wait state 'w': 'db' is not \"<instance_id>/<state_id>\"");
  CHECK(first_problem("states: [{id: w, module: meta.wait, parameter: {state: [db/x]}}]") == "");
  CHECK(first_problem("states: [{id: w, module: meta.wait}]") ==
        "wait state 'w': it waits for nothing: its 'state' is empty");
}

TEST_CASE("a recipe that does not fit into a message is refused") {
  CHECK(first_problem("states: [{id: a, module: linux.file, parameter: {path: /x, content: '" +
                      std::string(5 << 20, 'x') + "'}}]")
            .find("larger than what a message to an agent can hold") != std::string::npos);
}

TEST_CASE("a single state is checked as it would be in a recipe") {
  const auto state = check_single_state(R"({"module":"linux.dir","parameter":{"path":["/x"]},"timeout":5})");
  REQUIRE(state.problems.empty());
  CHECK(state.states == R"({"id":"run","module":"linux.dir","parameter":{"path":["/x"]},"timeout":5})");
  CHECK(check_single_state(R"({"id":"mine","module":"meta.comment"})").states.find("mine") !=
        std::string::npos);
  CHECK_FALSE(check_single_state("{}").problems.empty());
  CHECK_FALSE(check_single_state("[]").problems.empty());
  CHECK_FALSE(check_single_state(R"({"module":"linux.dir"})").problems.empty());
  CHECK_FALSE(check_single_state(R"({"module":"meta.wait","parameter":{"state":"a/b"}})").problems.empty());
  CHECK_FALSE(check_single_state(R"({"module":"meta.comment"},{"module":"meta.comment"})").problems.empty());
}

TEST_CASE("a recipe that machines fill in goes there as it was written, with what the backend has to know") {
  using namespace backend::domain;
  const std::string content =
      "version: 2\nvars: { port: { type: integer } }\nstates:\n"
      "  - { id: conf, module: linux.file, parameter: { path: /conf, content: \"${{ vars.port }}\" } }\n"
      "  - { id: db, module: meta.wait, parameter: { state: [db1/ready] } }\n";
  const CheckedRecipe checked = check_recipe(content);
  REQUIRE_MESSAGE(checked.problems.empty(), checked.problems[0].message);
  CHECK(checked.state_count == 2);
  const auto list = read_states(checked.states);
  REQUIRE_MESSAGE(list, list.error().message());
  CHECK((*list)->ids == std::vector<std::string>{"conf", "db"});
  CHECK((*list)->has_computed);
  REQUIRE((*list)->waits.size() == 1);
  CHECK((*list)->waits[0].targets[0].instance_id == "db1");
  CHECK(checked.inputs.find("\"port\"") != std::string::npos);
  // What the backend must know of is not left to the machine.
  const CheckedRecipe refused = check_recipe(
      "version: 2\nvars: { whom: { type: string } }\nstates:\n"
      "  - { id: w, module: meta.wait, parameter: { state: \"${{ vars.whom }}\" } }\n");
  REQUIRE(refused.problems.size() == 1);
  CAPTURE(refused.problems[0].message);
  CHECK(refused.problems[0].message.find("must be written down") != std::string::npos);
}
