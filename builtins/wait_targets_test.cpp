#include "builtins/wait_targets.hpp"

#include <doctest/doctest.h>

#include "base/values/json.hpp"

namespace builtins {

namespace {

struct Read {
  explicit Read(std::string_view json) : text(json), value(base::parse_json(text, arena)) {
    REQUIRE(std::holds_alternative<base::Value>(value));
    targets = read_wait_targets(std::get<base::Value>(value));
  }
  std::string text;
  base::Arena arena;
  decltype(base::parse_json({}, arena)) value;
  std::vector<WaitTarget> targets;
};

}  // namespace

TEST_CASE("what a wait waits for is a text or an object, alone or in a list") {
  for (const char* json : {R"({"state":"db1/ready"})", R"({"state":["db1/ready"]})",
                           R"({"state":{"instance_id":"db1","state_id":"ready"}})",
                           R"({"state":[{"instance_id":"db1","id":"ready"}]})",
                           R"({"state":[{"instance_id":"db1","stateid":"ready"}]})"}) {
    CAPTURE(json);
    const Read read(json);
    REQUIRE(read.targets.size() == 1);
    CHECK(read.targets[0].instance_id == "db1");
    CHECK(read.targets[0].state_id == "ready");
    CHECK(problem_of_target(read.targets[0]).empty());
  }
  const Read selected(R"({"state":{"selector":"role=db","state_id":"ready"}})");
  CHECK(selected.targets.at(0).selector == "role=db");
  CHECK(selected.targets[0].instance_id.empty());
  CHECK(problem_of_target(selected.targets[0]).empty());
  for (const char* json : {"{}", R"({"state":null})", R"({"state":[]})"})
    CHECK(Read(json).targets.empty());
}

TEST_CASE("a wait target that nobody could wait for has a problem, and is read all the same") {
  const auto problem = [](const char* json) { return problem_of_target(Read(json).targets.at(0)); };
  CHECK(problem(R"({"state":"ready"})") == "'ready' is not \"<instance_id>/<state_id>\"");
  CHECK(Read(R"({"state":"ready"})").targets[0].state_id == "ready");
  CHECK(problem(R"({"state":"/ready"})").find("is not") != std::string::npos);
  CHECK(problem(R"({"state":"db1/"})").find("is not") != std::string::npos);
  CHECK(problem(R"({"state":{"state_id":"ready"}})").find("either") != std::string::npos);
  CHECK(problem(R"({"state":{"instance_id":"a","selector":"*","state_id":"x"}})").find("either") !=
        std::string::npos);
  CHECK(problem(R"({"state":{"instance_id":"a"}})").find("either") != std::string::npos);
  CHECK(problem(R"({"state":{"instance_id":7,"state_id":"x"}})") == "an 'instance_id' must be a text");
}

}  // namespace builtins
