#include "agent/cli/input/plan_file.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "tests/support/state_harness.hpp"

using namespace agent;

namespace {

using agent::cli::make_plan_file;
using agent::cli::PlanFile;
using states::Verdict;

engine::PlanResult example() {
  engine::PlanResult plan;
  plan.states = {
      {.id = "a \"quoted\" id",
       .module = "linux.file",
       .verdict = Verdict::change,
       .message = "secret message",
       .changes = {{.what = "secret what", .before = "secret before", .after = "x", .diff = "secret diff"}},
       .fingerprint = "change:abc"},
      {.id = "b", .module = "linux.service", .verdict = Verdict::unknown, .fingerprint = ""},
      {.id = "c", .module = "linux.file", .skipped = true}};
  return plan;
}

}  // namespace

TEST_CASE("a plan is the same after it was saved and loaded") {
  const tests::StateHarness scratch;
  const std::string path = scratch.root() + "/web.plan";
  const PlanFile plan = make_plan_file(example(), "/srv/web.yaml", "d1g3st", "/mnt", "s4lt");
  REQUIRE(agent::cli::save(plan, path));
  CHECK(scratch.mode("/web.plan") == 0600);
  CHECK(agent::cli::is_plan_file(path));
  auto loaded = agent::cli::load_plan_file(path);
  REQUIRE(loaded);
  CHECK(loaded->recipe == "/srv/web.yaml");
  CHECK(loaded->digest == "d1g3st");
  CHECK(loaded->root == "/mnt");
  CHECK(loaded->salt == "s4lt");
  REQUIRE(loaded->states.size() == 3);
  CHECK(loaded->states[0].id == "a \"quoted\" id");
  CHECK(loaded->states[2].verdict == "skipped");
  CHECK(expected_plans(*loaded) == std::vector<std::string>{"change:abc", "", ""});
}

TEST_CASE("a saved plan holds no values, messages or diffs") {
  CHECK(agent::cli::to_text(make_plan_file(example(), "/r", "d", "", "s")).find("secret") ==
        std::string::npos);
}

TEST_CASE("a plan replaces an older one and leaves no temporary behind") {
  tests::StateHarness scratch;
  scratch.write("/p", "old", 0644);
  REQUIRE(agent::cli::save(make_plan_file(example(), "/r", "d", "", "s"), scratch.root() + "/p"));
  CHECK(scratch.mode("/p") == 0600);
  const auto entries = std::filesystem::directory_iterator(scratch.root());
  CHECK(std::distance(begin(entries), end(entries)) == 1);
  CHECK_FALSE(agent::cli::save(make_plan_file(example(), "/r", "d", "", "s"), scratch.root() + "/missing/p"));
}

TEST_CASE("recipes are not mistaken for plans, and damaged plans say what to do") {
  tests::StateHarness scratch;
  scratch.write("/recipe.json", R"({"states": []})");
  CHECK_FALSE(agent::cli::is_plan_file(scratch.root() + "/recipe.json"));
  CHECK_FALSE(agent::cli::is_plan_file(scratch.root() + "/missing"));
  CHECK_FALSE(agent::cli::is_plan_file("/dev/zero"));
  scratch.write("/cut.plan",
                agent::cli::to_text(make_plan_file(example(), "/r", "d", "", "s")).substr(0, 80));
  CHECK(agent::cli::is_plan_file(scratch.root() + "/cut.plan"));
  auto cut = agent::cli::load_plan_file(scratch.root() + "/cut.plan");
  REQUIRE_FALSE(cut);
  CHECK(cut.error().message().find("plan again") != std::string::npos);
  for (const char* other : {R"({"opsagent_plan":1,"recipe":"/r"})", R"({"opsagent_plan":3,"recipe":"/r"})"}) {
    auto refused = agent::cli::parse_plan_file(other);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find("another version") != std::string::npos);
  }
}
