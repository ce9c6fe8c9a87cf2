#include "update/launcher/launcher_decision.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using update::Phase;
using update::Record;
using update::launcher::AfterEnd;
using update::launcher::AgentEnd;
using update::launcher::decide;
using update::launcher::decide_after_deadline;
using update::launcher::Decision;
using update::launcher::DiskState;
using update::launcher::Restarts;

namespace {

const std::vector<std::string> kBoth{"2-bb", "1-aa"};

Record record(Phase phase, std::uint32_t attempts = 0) {
  return {.phase = phase,
          .action_id = "a",
          .version = "2.0.0",
          .from = "1-aa",
          .to = "2-bb",
          .attempts = attempts,
          .deadline = 180s};
}

DiskState sight(std::optional<Record> with, std::optional<std::string> current) {
  return {.record = std::move(with),
          .current = current,
          .current_problem = current ? "" : "current leads nowhere",
          .complete = kBoth};
}

Record closed(Record base, Phase phase, std::string reason, bool retryable) {
  base.phase = phase;
  base.reason = std::move(reason);
  base.retryable = retryable;
  return base;
}

}  // namespace

TEST_CASE("no update under way: what is current is started") {
  CHECK(decide(sight({}, "1-aa")) == Decision{.start = "1-aa"});
  for (const Phase phase :
       {Phase::requested, Phase::metadata, Phase::downloading, Phase::verifying, Phase::staged,
        Phase::draining, Phase::failed, Phase::refused, Phase::rolled_back})
    CHECK(decide(sight(record(phase), "1-aa")) == Decision{.start = "1-aa"});
  CHECK(decide(sight(record(Phase::confirmed), "2-bb")) == Decision{.start = "2-bb"});
}

TEST_CASE("armed, but not switched: interrupted, and it may be tried again") {
  const Record armed = record(Phase::armed);
  CHECK(decide(sight(armed, "1-aa")) ==
        Decision{.write = closed(armed, Phase::failed, "interrupted before the switch", true),
                 .start = "1-aa"});
}

TEST_CASE("switched, whatever the journal got to say of it: an attempt is counted before the start") {
  for (const Phase phase : {Phase::armed, Phase::switched, Phase::restarting}) {
    CHECK(decide(sight(record(phase), "2-bb")) == Decision{.write = record(Phase::trial, 1),
                                                           .start = "2-bb",
                                                           .start_uncounted = "1-aa",
                                                           .deadline = 180s});
  }
  for (std::uint32_t attempts = 1; attempts < update::kMostAttempts; ++attempts) {
    Record before = record(Phase::trial, attempts);
    before.retryable = true;
    before.reason = "waiting for the backend";
    CHECK(decide(sight(before, "2-bb")) == Decision{.write = record(Phase::trial, attempts + 1),
                                                    .start = "2-bb",
                                                    .start_uncounted = "1-aa",
                                                    .deadline = 180s});
  }
}

TEST_CASE("after three attempts the old version comes back, and the new one is not tried again") {
  DiskState third = sight(record(Phase::trial, 3), "2-bb");
  const std::string why = "it ended 3 times before it was healthy";
  CHECK(decide(third) == Decision{.say = {"version 2.0.0 is rolled back: " + why},
                                  .write = closed(*third.record, Phase::rolled_back, why, false),
                                  .switch_to = "1-aa",
                                  .start = "1-aa"});
  third.last_end = "exit status 3";
  CHECK(decide(third).write->reason == why + "; the last time: exit status 3");

  SUBCASE("also when the new version itself has given up, for the reason that it gives") {
    third.record->attempts = update::kGivenUp;
    third.record->reason = "its self-test failed";
    CHECK(decide(third).write->reason == "its self-test failed");
    CHECK(decide(third).switch_to == "1-aa");
    CHECK(decide_after_deadline(third).write->reason ==
          "it was not healthy within 180 s: its self-test failed");
  }
}

TEST_CASE("a way back that was journalled but not switched is finished") {
  CHECK(decide(sight(record(Phase::rolled_back), "2-bb")) == Decision{.switch_to = "1-aa", .start = "1-aa"});
  // The switch had failed, after its rename.
  CHECK(decide(sight(record(Phase::failed), "2-bb")) == Decision{.switch_to = "1-aa", .start = "1-aa"});

  SUBCASE("but not when the new version was installed by hand since: the record has no version before") {
    Record by_hand = record(Phase::failed);
    by_hand.from.clear();
    CHECK(decide(sight(by_hand, "2-bb")) == Decision{.start = "2-bb"});
  }
}

TEST_CASE("switched back without a word in the journal: closed, not tried") {
  const Record tried = record(Phase::trial, 2);
  const Decision decision = decide(sight(tried, "1-aa"));
  CHECK(decision.write == closed(tried, Phase::rolled_back, "'current' was switched back", true));
  CHECK(decision.start == "1-aa");
  CHECK_FALSE(decision.switch_to);
}

TEST_CASE("a trial with a current that leads elsewhere goes back to what worked") {
  for (const auto& current : {std::optional<std::string>(), std::optional<std::string>("9-zz")}) {
    const Decision decision = decide(sight(record(Phase::trial, 1), current));
    CHECK(decision.write->phase == Phase::rolled_back);
    CHECK(decision.switch_to == "1-aa");
    CHECK(decision.start == "1-aa");
  }
}

TEST_CASE("without the old version a trial goes on, because there is nothing better") {
  DiskState alone = sight(record(Phase::trial, 3), "2-bb");
  alone.complete = {"2-bb"};
  CHECK(decide(alone).start == "2-bb");
  CHECK_FALSE(decide(alone).write);
  CHECK_FALSE(decide(alone).deadline);
  CHECK(decide_after_deadline(alone).start == "2-bb");
  alone.current.reset();
  alone.record->attempts = 1;
  CHECK(decide(alone).start == "2-bb");
  CHECK(decide(alone).switch_to == "2-bb");
  CHECK(decide(alone).write->attempts == 2);
  CHECK(decide(alone).start_uncounted.empty());
}

TEST_CASE("the deadline: back to the old version; whether to try again is what the agent has said") {
  Record waiting = record(Phase::trial, 1);
  waiting.retryable = true;
  waiting.reason = "the backend has not welcomed it";
  const Decision decision = decide_after_deadline(sight(waiting, "2-bb"));
  const std::string why = "it was not healthy within 180 s: the backend has not welcomed it";
  CHECK(decision.write == closed(waiting, Phase::rolled_back, why, true));
  CHECK(decision.switch_to == "1-aa");
  CHECK(decision.start == "1-aa");
  CHECK_FALSE(decide_after_deadline(sight(record(Phase::trial, 1), "2-bb")).write->retryable);

  SUBCASE("an agent that ended before is not excused by what the last one waited for") {
    DiskState second = sight(waiting, "2-bb");
    second.record->attempts = 2;
    second.last_end = "exit status 3";
    const Decision after_crash = decide_after_deadline(second);
    CHECK_FALSE(after_crash.write->retryable);
    CHECK(after_crash.write->reason ==
          "it was not healthy within 180 s, in 2 starts; the last one's end: exit status 3");
  }
  SUBCASE("confirmed in the last moment stays") {
    CHECK(decide_after_deadline(sight(record(Phase::confirmed, 1), "2-bb")) == Decision{.start = "2-bb"});
  }
}

TEST_CASE("a damaged journal is said, and does not keep the agent from starting") {
  DiskState damaged = sight({}, "2-bb");
  damaged.journal_problem = "the update journal is damaged: its end is missing";
  const Decision decision = decide(damaged);
  CHECK(decision.start == "2-bb");
  CHECK(decision.say.size() == 1);
  CHECK_FALSE(decision.write);
}

TEST_CASE("a current that leads nowhere is replaced by what is known to work") {
  SUBCASE("confirmed: the new one") {
    const Decision decision = decide(sight(record(Phase::confirmed), {}));
    CHECK(decision.switch_to == "2-bb");
    CHECK(decision.start == "2-bb");
    CHECK(decision.say.front() == "current leads nowhere");
  }
  SUBCASE("anything else: the one before") {
    CHECK(decide(sight(record(Phase::rolled_back), {})).start == "1-aa");
    CHECK(decide(sight(record(Phase::downloading), {})).start == "1-aa");
  }
  SUBCASE("no journal: the newest that is complete") {
    CHECK(decide(sight({}, {})).start == "2-bb");
  }
  SUBCASE("nothing at all: said, and nothing is started") {
    DiskState none = sight(record(Phase::trial), {});
    none.complete.clear();
    CHECK(decide(none).start.empty());
    CHECK(decide(none).say.back().find("install the agent anew") != std::string::npos);
  }
}

TEST_CASE("pauses double up to five minutes, and a good run starts them anew") {
  Restarts restarts;
  const AgentEnd crash{.status = 1, .ran = 10ms};
  for (const auto pause : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 128s, 256s, 300s, 300s})
    CHECK(restarts.after(crash) == AfterEnd{.wait = pause});
  CHECK(restarts.after_nothing() == 300s);
  CHECK(restarts.after({.ran = 61s}) == AfterEnd{.wait = 1s});
  CHECK(restarts.after(crash) == AfterEnd{.wait = 2s});
}

TEST_CASE("status 77 starts at once, but never in a circle") {
  Restarts restarts;
  CHECK(restarts.after({.status = 77, .ran = 10ms}) == AfterEnd{});
  CHECK(restarts.after({.status = 77, .ran = 10ms}) == AfterEnd{.wait = 1s});
  CHECK(restarts.after({.status = 77, .ran = 10ms}) == AfterEnd{});
  CHECK(restarts.after({.status = 77, .ran = 5s}) == AfterEnd{});
}

TEST_CASE("after the last attempt of a trial nothing is waited for") {
  Restarts restarts;
  CHECK(restarts.after({.status = 1, .ran = 10ms}) == AfterEnd{.wait = 1s});
  CHECK(restarts.after({.status = 1, .ran = 10ms, .was_last_attempt = true}) == AfterEnd{});
  CHECK(restarts.after({.status = 1, .ran = 10ms}) == AfterEnd{.wait = 1s});
}

TEST_CASE(
    "asked to stop, it ends well, however the agent took it; an agent that ends by itself is started again") {
  Restarts restarts;
  CHECK(restarts.after({.status = 0, .ran = 5s, .was_asked_to_stop = true}) == AfterEnd{.end_with = 0});
  CHECK(restarts.after({.status = 3, .ran = 5s, .was_asked_to_stop = true}) == AfterEnd{.end_with = 0});
  CHECK(restarts.after({.status = 77, .ran = 5s, .was_asked_to_stop = true}) == AfterEnd{.end_with = 0});
  CHECK(restarts.after({.ran = 5s, .was_asked_to_stop = true}) == AfterEnd{.end_with = 0});
  CHECK(restarts.after({.status = 0, .ran = 5s}) == AfterEnd{.wait = 1s});
}
