#include "ctl/commands/convergence.hpp"

#include <doctest/doctest.h>

#include "base/values/json.hpp"

namespace {

using ctl::Convergence;
using State = Convergence::State;

// Values that live as long as the test.
struct Facts {
  base::Value operator()(std::string_view json) {
    return std::get<base::Value>(base::parse_json(arena.copy(json), arena));
  }
  base::Arena arena;
};

}  // namespace

TEST_CASE("what a machine said of an older version does not count") {
  Facts facts;
  Convergence all;
  all.see("shop/web1",
          facts(R"({"online":true,"recipe_version":7,"reported_version":6,"status":"converged"})"));
  CHECK_FALSE(all.done());
  all.see_event("recipe",
                facts(R"({"app_id":"shop","instance_id":"web1","recipe_version":6,"status":"failed"})"));
  CHECK_FALSE(all.done());
  all.see_event("recipe",
                facts(R"({"app_id":"shop","instance_id":"web1","recipe_version":7,"status":"running"})"));
  CHECK_FALSE(all.done());
  all.see_event("recipe",
                facts(R"({"app_id":"shop","instance_id":"web1","recipe_version":7,"status":"converged"})"));
  CHECK(all.done());
  CHECK(all.succeeded());
}

TEST_CASE("a machine that is paused or held is not waited for, and is named") {
  Facts facts;
  Convergence all;
  all.see("shop/web1", facts(R"({"online":true,"recipe_version":7,"reported_version":6,"status":"running",)"
                             R"("pause":{"by":"alice","reason":"disk","until":"2999-01-01T00:00:00Z"}})"));
  all.see("shop/web2", facts(R"({"online":true,"recipe_version":7,"reported_version":6,"status":"running",)"
                             R"("pause":null,"holds":[{"origin":"machine","by":"root","until":""}]})"));
  all.see("shop/web3", facts(R"({"online":true,"recipe_version":7,"reported_version":7,"status":"converged",)"
                             R"("pause":{"by":"alice","reason":"","until":"2999-01-01T00:00:00Z"}})"));
  CHECK(all.done());
  CHECK_FALSE(all.succeeded());
  CHECK(all.summary() == "2 paused, 1 converged of 3 machines");
  CHECK(all.machines().at("shop/web1").held.find("paused by alice") == 0);
  CHECK(all.machines().at("shop/web2").held.find("held by root at the machine") == 0);
}

TEST_CASE("a machine that failed or refused ends the wait for it, without success") {
  Facts facts;
  for (const char* status : {"failed", "rejected"}) {
    Convergence all;
    all.see(
        "shop/web1",
        facts(std::string(
                  R"({"online":true,"recipe_version":7,"reported_version":7,"errors":["why"],"status":")") +
              status + "\"}"));
    CHECK(all.done());
    CHECK_FALSE(all.succeeded());
    CHECK(all.machines().at("shop/web1").error == "why");
  }
}

TEST_CASE("a machine that is not connected is not waited for, and is no success") {
  Facts facts;
  Convergence all;
  all.see("shop/web1",
          facts(R"({"online":true,"recipe_version":7,"reported_version":7,"status":"converged"})"));
  all.see("shop/web2",
          facts(R"({"online":false,"recipe_version":7,"reported_version":6,"status":"converged"})"));
  CHECK(all.done());
  CHECK_FALSE(all.succeeded());
  CHECK(all.summary() == "1 not connected, 1 converged of 2 machines");
  // Until it comes back.
  all.see_event("presence", facts(R"({"app_id":"shop","instance_id":"web2","online":true})"));
  CHECK_FALSE(all.done());
}

TEST_CASE("events of other machines are not ours") {
  Facts facts;
  Convergence all;
  all.see("shop/web1", facts(R"({"online":true,"recipe_version":1,"reported_version":0,"status":"new"})"));
  all.see_event("recipe",
                facts(R"({"app_id":"other","instance_id":"web1","recipe_version":9,"status":"converged"})"));
  CHECK(all.machines().size() == 1);
  CHECK_FALSE(all.done());
}
