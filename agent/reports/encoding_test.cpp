#include "agent/reports/encoding.hpp"

#include <doctest/doctest.h>

#include "protocol/codec.hpp"

using namespace agent;
using namespace agent::reports;

namespace {

engine::StateResult result(engine::Outcome outcome) {
  return {.id = "a",
          .module = "linux.file",
          .run_id = "r",
          .version = 3,
          .round = 2,
          .outcome = outcome,
          .comment = "said",
          .started = std::chrono::system_clock::from_time_t(0),
          .duration = std::chrono::milliseconds(5)};
}

std::optional<protocol::RecipeStatus> at_start(const engine::RoundStarted& started) {
  if (started.version == 0) return std::nullopt;
  return protocol::RecipeStatus{.recipe_version = started.version,
                                .status = protocol::RecipeProgress::running};
}

}  // namespace

TEST_CASE("a report says why something was changed, in the words that the command line has") {
  for (const engine::Cause cause : {engine::Cause::none, engine::Cause::new_recipe, engine::Cause::drift,
                                    engine::Cause::trigger, engine::Cause::refresh}) {
    engine::StateResult changed = result(engine::Outcome::changed);
    changed.cause = cause;
    CHECK(protocol::name_of(to_protocol(changed).cause) == engine::cause_name(cause));
  }
}

TEST_CASE("a result survives the way into the spool and back") {
  engine::StateResult changed = result(engine::Outcome::changed);
  changed.output = "out";
  changed.changes = {{.what = "content", .before = "x", .after = "y", .diff = "-x\n+y\n"}};
  changed.exit_code = 4;
  changed.cause = engine::Cause::drift;
  const Reports reports(at_start);
  const auto entry = reports.encode(changed);
  REQUIRE(entry);
  CHECK(entry->importance == Importance::normal);
  const auto body = from_payload(entry->payload);
  REQUIRE(body);
  const auto& log = std::get<protocol::StateLog>(*body);
  CHECK(log == to_protocol(changed));
  CHECK(log.started == "1970-01-01T00:00:00.000Z");
  CHECK(log.state_result);
  CHECK(log.duration_ms == 5);
  CHECK(log.state_stdout == "out");
}

TEST_CASE("kept results are the first to go, and with report: changes only the first round tells them") {
  Reports reports(at_start);
  CHECK(reports.encode(result(engine::Outcome::kept))->importance == Importance::kept);
  reports.set_changes_only(true);
  engine::StateResult kept = result(engine::Outcome::kept);
  kept.round = 1;
  CHECK(reports.encode(kept));  // somebody may wait for it
  kept.round = 2;
  CHECK(!reports.encode(kept));
  CHECK(reports.encode(result(engine::Outcome::changed)));
  CHECK(reports.encode(result(engine::Outcome::failed)));
  CHECK(reports.encode(engine::RoundEnd{.run_id = "r", .version = 3, .round = 1}));
  engine::StateResult single = result(engine::Outcome::kept);
  single.version = 0;
  CHECK(reports.encode(single));  // whoever asked for it waits for it
}

TEST_CASE(
    "a state that was skipped because one that it requires has failed is no success, and is always told") {
  engine::StateResult blocked = result(engine::Outcome::skipped);
  CHECK(to_protocol(blocked).state_result);
  blocked.is_blocked = true;
  CHECK_FALSE(to_protocol(blocked).state_result);
  CHECK(to_protocol(blocked).outcome == "skipped");
  Reports reports(at_start);
  reports.set_changes_only(true);
  CHECK(reports.encode(blocked));
  CHECK_FALSE(reports.encode(result(engine::Outcome::skipped)));
  // Afterwards it is right without a change, and others may wait for that.
  engine::StateResult kept = result(engine::Outcome::kept);
  kept.is_news = true;
  CHECK(reports.encode(kept));
}

TEST_CASE("a report that would be too large for a message is shortened") {
  engine::StateResult huge = result(engine::Outcome::failed);
  huge.output.assign(3'000'000, 'x');
  huge.changes.assign(1000, {.what = "w", .before = std::string(10'000, 'b'), .after = "a", .diff = "d"});
  const auto entry = Reports(at_start).encode(huge);
  REQUIRE(entry);
  CHECK(entry->payload.size() < 1024 * 1024);
  CHECK(std::get<protocol::StateLog>(*from_payload(entry->payload)).truncated);
}

TEST_CASE("a report is measured as it is written: control characters take six times their size") {
  engine::StateResult huge = result(engine::Outcome::changed);
  huge.changes = {
      {.what = "content", .before = "1 byte", .after = "2 bytes", .diff = std::string(900'000, '\x1b')}};
  const auto entry = Reports(at_start).encode(huge);
  REQUIRE(entry);
  CHECK(entry->payload.size() < 1024 * 1024);
  CHECK(std::get<protocol::StateLog>(*from_payload(entry->payload)).truncated);
  // One that is in the spool since before.
  protocol::StateLog old = to_protocol(result(engine::Outcome::changed));
  old.state_stdout = std::string(900'000, '\x1b');
  const auto kept = from_payload(to_entry(old).payload);
  REQUIRE(kept);
  CHECK(protocol::encode(protocol::AgentMessage{*kept}).size() < 1024 * 1024);
  // All at once, and each as long as it stays.
  huge.comment = huge.output = std::string(900'000, '\x1b');
  const std::string text(4'000, '\x1b');  // longer than what stays of it
  huge.changes.assign(1000, {.what = text, .before = text, .after = text});
  CHECK(Reports(at_start).encode(huge)->payload.size() < 3 * 1024 * 1024);
}

TEST_CASE("a plan that would be too large for a message is sent without its last diffs, or says so") {
  const auto plan_of = [](std::size_t states, const std::string& message, const std::string& diff) {
    engine::PlanResult plan{.version = 1};
    for (std::size_t i = 0; i < states; ++i) {
      auto& state = plan.states.emplace_back();
      state.id = "s" + std::to_string(i);
      state.module = "linux.file";
      state.message = message;
      state.changes = {{.what = "content", .before = "a", .after = "b", .diff = diff}};
    }
    return to_protocol(plan);
  };
  const auto size_of = [](const protocol::PlanResult& plan) {
    return protocol::encode(protocol::AgentMessage{plan}).size();
  };
  constexpr std::size_t kMost = 4 * 1024 * 1024;
  const std::string diff(150'000, '\x1b');
  const auto small = plan_of(3, "m", diff);
  CHECK(small.states[2].changes[0].diff == diff);
  const auto large = plan_of(40, "m", diff);
  CHECK(size_of(large) < kMost);
  REQUIRE(large.states.size() == 40);
  CHECK(large.states[0].changes[0].diff == diff);
  CHECK(large.states[39].changes[0].diff == "[left out: the plan is too large]\n");
  const auto short_diffs = plan_of(9'000, "m", "-a\n+b\n-a\n+b\n-a\n+b\n-a\n+b\n-a\n+b\n-a\n+b\n");
  CHECK(size_of(short_diffs) < kMost);
  CHECK(short_diffs.states.size() == 9'000);
  const auto huge = plan_of(10'000, std::string(1000, '"'), "");
  CHECK(size_of(huge) < kMost);
  CHECK(huge.states.empty());
  CHECK(huge.errors.at(0).starts_with("The plan of 10000 states is too large"));
}

TEST_CASE("what the start of a round tells is a report, and decided by whoever knows the recipe") {
  const Reports reports(at_start);
  const auto entry = reports.encode(engine::RoundStarted{.run_id = "r", .version = 3, .round = 7});
  REQUIRE(entry);
  CHECK(std::get<protocol::RecipeStatus>(*from_payload(entry->payload)) ==
        protocol::RecipeStatus{.recipe_version = 3, .status = protocol::RecipeProgress::running});
  CHECK(!reports.encode(engine::RoundStarted{.run_id = "r", .version = 0, .round = 1}));
}
