#include "ctl/output/plan_view.hpp"

#include <doctest/doctest.h>

#include "base/values/json.hpp"

namespace {

struct Answer {
  explicit Answer(std::string the_text) : text(std::move(the_text)) {
    value = std::get<base::Value>(base::parse_json(text, arena));
  }
  std::string text;
  base::Arena arena;
  base::Value value;
};

constexpr const char* kMotd =
    R"([{"id":"motd","module":"linux.file","verdict":"change","message":"write /etc/motd","changes":[{"what":"content","before":"absent","after":"6 bytes","diff":"@@ -0,0 +1 @@\n+hello\n"}]},{"id":"kept","module":"linux.dir","verdict":"kept","message":"","changes":[]}])";

}  // namespace

TEST_CASE("machines with the same plan are shown once, and summed up") {
  const Answer answer(std::string(R"({"items":[{"instance_id":"web1","states":)") + kMotd +
                      R"(},{"instance_id":"db1","states":[]},)" + R"({"instance_id":"web2","states":)" +
                      kMotd + R"(}],"not_connected":["web9"]})");
  const ctl::FleetPlan plan = ctl::fleet_plan(answer.value);
  REQUIRE(plan.groups.size() == 2);
  CHECK(plan.to_change == 2);
  CHECK(plan.changed_states == 2);
  CHECK(plan.kept == 1);
  const std::string text = ctl::plan_text(plan, false, terminal::Paint(false), 0);
  CHECK(
      text ==
      "web1, web2 (2 machines)\n"
      "  + motd  linux.file\n"
      "      write /etc/motd\n"
      "      content: absent -> 6 bytes\n"
      "          @@ -0,0 +1 @@\n"
      "          +hello\n"
      "\n"
      "db1: nothing to do\n"
      "\n"
      "x web9: not connected\n"
      "\n"
      "Plan: 2 machines to change (2 states), 1 machine without an answer, 1 machine with nothing to do.\n");
  CHECK(ctl::plan_text(plan, true, terminal::Paint(false), 0).find("= kept  linux.dir") != std::string::npos);
}

TEST_CASE("a state that cannot work counts its machine as such, and errors are told") {
  const Answer answer(
      R"({"items":[{"instance_id":"a","states":[{"id":"x","module":"m","verdict":"fail","message":"no such user"}]},{"instance_id":"b","error":"timed out"}],"not_connected":[]})");
  const ctl::FleetPlan plan = ctl::fleet_plan(answer.value);
  CHECK(plan.cannot_work == 1);
  CHECK(plan.silent.size() == 1);
  const std::string text = ctl::plan_text(plan, false, terminal::Paint(false), 0);
  CHECK(text.find("x x  m\n      no such user") != std::string::npos);
  CHECK(text.find("x b: timed out") != std::string::npos);
}

TEST_CASE("many machines are named in part") {
  std::vector<std::string> machines;
  for (int i = 1; i <= 10; ++i)
    machines.push_back("web" + std::to_string(i));
  CHECK(ctl::machines_text(machines) == "web1, web2, web3, web4, web5 and 5 more (10 machines)");
  CHECK(ctl::machines_text({"web1"}) == "web1");
}
