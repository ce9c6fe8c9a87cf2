#include "agent/cli/output/event_json.hpp"

#include <doctest/doctest.h>

#include "agent/cli/output/apply_view.hpp"

using namespace agent;
using namespace agent::cli;

TEST_CASE("a plan is one JSON document with counts and changes") {
  engine::PlanResult plan;
  plan.states = {{.id = "a",
                  .module = "linux.file",
                  .verdict = states::Verdict::change,
                  .message = "Create /a",
                  .changes = {{.what = "/a", .before = "absent", .after = "file", .diff = "+x\n"}}},
                 {.id = "b", .module = "linux.file", .message = "fine"}};
  CHECK(
      cli::plan_json(plan, "web.yaml", "d", "") ==
      R"({"recipe":"web.yaml","digest":"d","root":"","by_root":true,"counts":{"change":1,"unknown":0,"fail":0,"kept":1,"skipped":0},)"
      R"("states":[{"id":"a","module":"linux.file","verdict":"change","message":"Create /a","changes":)"
      R"([{"what":"/a","before":"absent","after":"file","diff":"+x\n"}]},)"
      R"({"id":"b","module":"linux.file","verdict":"kept","message":"fine"}]})");
}

TEST_CASE("a plan that somebody else than root has made says so, and which states need root") {
  engine::PlanResult plan{.by_root = false};
  plan.states = {{.id = "a", .module = "linux.user", .verdict = states::Verdict::change, .needs_root = true}};
  const std::string text = cli::plan_json(plan, "web.yaml", "d", "");
  CHECK(text.find(R"("by_root":false)") != std::string::npos);
  CHECK(text.find(R"("needs_root":true)") != std::string::npos);
}

TEST_CASE("every event is one line of JSON that programs can read") {
  engine::StateResult result{
      .id = "x\ny", .module = "linux.cmd", .outcome = engine::Outcome::failed, .comment = "exit \"3\""};
  result.exit_code = 3;
  result.started = std::chrono::system_clock::time_point(std::chrono::milliseconds(1'000'000'007));
  result.duration = std::chrono::microseconds(1500);
  CHECK(
      cli::event_json(result) ==
      R"({"event":"state_result","id":"x\ny","module":"linux.cmd","index":0,"version":1,"round":0,"outcome":"failed",)"
      R"("comment":"exit \"3\"","exit_code":3,"started":"1970-01-12T13:46:40.007Z","duration_us":1500})");
  engine::RoundEnd end{.round = 1, .not_reached = 2};
  end.counts[static_cast<std::size_t>(engine::Outcome::kept)] = 4;
  end.drift = {"a", "b"};
  const std::string text = cli::event_json(end);
  CHECK(text.find(R"("kept":4)") != std::string::npos);
  CHECK(text.find(R"("not_reached":2)") != std::string::npos);
  CHECK(text.find(R"("drift":["a","b"])") != std::string::npos);
  const std::vector<engine::Event> all{engine::RoundStarted{},
                                       engine::StateStarted{},
                                       engine::StateOutput{.data = "\xff\n"},
                                       result,
                                       end,
                                       engine::PlanResult{},
                                       engine::Notice{.text = "t"},
                                       engine::Stopped{}};
  for (const engine::Event& event : all) {
    const std::string line = cli::event_json(event);
    CHECK(line.find('\n') == std::string::npos);
    base::Arena arena;
    auto parsed = base::parse_json(line, arena);
    REQUIRE(std::holds_alternative<base::Value>(parsed));
    CHECK(std::get<base::Value>(parsed).find("event") != nullptr);
  }
}

TEST_CASE("problems of a recipe carry file, line, column and state") {
  CHECK(cli::problems_json(
            "web.yaml",
            {{.message = "Unknown parameter", .state_id = "site", .position = {.line = 3, .column = 7}}},
            {}) == R"({"ok":false,"problems":[{"file":"web.yaml","line":3,"column":7,"id":"site",)"
                   R"("message":"Unknown parameter"}],"warnings":[]})");
}

TEST_CASE("the summary of a round names what happened and how long it took") {
  engine::RoundEnd end{.not_reached = 2};
  end.counts[static_cast<std::size_t>(engine::Outcome::failed)] = 1;
  end.counts[static_cast<std::size_t>(engine::Outcome::changed)] = 3;
  end.counts[static_cast<std::size_t>(engine::Outcome::kept)] = 4;
  end.duration = std::chrono::milliseconds(1234);
  CHECK(cli::round_summary(end) == "1 failed, 3 changed, 4 kept, 2 not reached in 1.23 s");
  CHECK(cli::duration_text(std::chrono::microseconds(1500)) == "1.5 ms");
  CHECK(cli::duration_text(std::chrono::milliseconds(130)) == "130 ms");
  CHECK(cli::duration_text(std::chrono::seconds(65)) == "65 s");
  CHECK(cli::duration_text(std::chrono::seconds(605)) == "10 min 5 s");
}
