#include "backend/domain/rollouts/change_rules.hpp"

#include <doctest/doctest.h>

using namespace backend::domain;

namespace {

const std::set<std::string, std::less<>> kOwn{"conf", "service"};

// Told at 1000 with version 7, which it should run still.
ChangeEvidence told() {
  ChangeEvidence evidence;
  evidence.phase = kTold;
  evidence.given_version = 7;
  evidence.recipe_version = 7;
  evidence.told = 1000;
  return evidence;
}
StateStanding standing(const std::string& id, const std::string& outcome, std::int64_t version = 7) {
  const bool is_done = outcome == "kept" || outcome == "changed";
  return {id, version, outcome, is_done ? version : 0, 2000};
}
std::string phase_of(const ChangeEvidence& evidence) {
  const auto verdict = judge_change(evidence, kOwn);
  return verdict ? verdict->phase : "";
}
ChangeEvidence with_round(ChangeEvidence evidence, std::uint64_t not_reached = 0) {
  evidence.round_version = evidence.given_version;
  evidence.round_at = 2000;
  evidence.not_reached = not_reached;
  return evidence;
}

}  // namespace

TEST_CASE("a machine that has said nothing of a change is neither well nor failed") {
  CHECK(phase_of(told()).empty());
  ChangeEvidence running = told();
  running.reported_version = 7;
  running.status = "running";
  running.states = {standing("conf", "changed")};
  CHECK(phase_of(running).empty());
}

TEST_CASE("a completed round with the version that was given confirms a change") {
  CHECK(phase_of(with_round(told())) == kConfirmed);
  ChangeEvidence converged = told();
  converged.converged_version = 7;
  converged.converged_at = 1500;
  CHECK(phase_of(converged) == kConfirmed);
  ChangeEvidence later = told();  // it was given a later version since, by another change
  later.recipe_version = 9;
  later.converged_version = 8;
  later.converged_at = 1500;
  CHECK(phase_of(later) == kConfirmed);
}

TEST_CASE("attack: a machine says that all is fine with a version that it was not given") {
  ChangeEvidence lie = told();
  lie.converged_version = 8;  // not given yet
  lie.converged_at = 2000;
  CHECK(phase_of(lie).empty());
  lie.converged_version = 7;  // guessed before it was given it
  lie.converged_at = 900;
  CHECK(phase_of(lie).empty());
  lie.converged_version = 6;  // the one from before
  lie.converged_at = 2000;
  CHECK(phase_of(lie).empty());
  ChangeEvidence round = with_round(told());
  round.round_at = 900;
  CHECK(phase_of(round).empty());
  round.round_at = 2000;
  round.round_version = 1'000'000;
  CHECK(phase_of(round).empty());
}

TEST_CASE("a state of the recipe that fails under the new version fails the change, whatever else is said") {
  for (const char* outcome : {"failed", "timed_out", "cancelled"}) {
    ChangeEvidence failed = with_round(told());
    failed.states = {standing("conf", "changed"), standing("service", outcome)};
    const auto verdict = judge_change(failed, kOwn);
    REQUIRE(verdict);
    CHECK(verdict->phase == kFailed);
    CHECK(verdict->error == "state 'service' " + std::string(outcome));
  }
  ChangeEvidence before = with_round(told());
  before.states = {standing("service", "failed", 6)};
  CHECK(phase_of(before) == kConfirmed);
}

TEST_CASE("a state of another recipe that fails says nothing about the change") {
  ChangeEvidence other = with_round(told(), 3);
  other.reported_version = 7;
  other.status = "failed";
  other.states = {standing("theirs", "failed")};
  const auto verdict = judge_change(other, kOwn);
  REQUIRE(verdict);
  CHECK(verdict->phase == kTold);
  CHECK(verdict->error.find("state 'theirs' of another recipe failed") != std::string::npos);
  other.noted = verdict->error;
  CHECK_FALSE(judge_change(other, kOwn));
  // All of its own states were done before that.
  other.states = {standing("conf", "kept"), standing("service", "changed"), standing("theirs", "failed")};
  CHECK(phase_of(other) == kConfirmed);
  // It was the last one, and everything was reached.
  other.states = {standing("theirs", "failed")};
  other.not_reached = 0;
  CHECK(phase_of(other) == kConfirmed);
}

TEST_CASE("a machine that refuses the recipe, or fails without saying where, has failed") {
  ChangeEvidence refused = told();
  refused.reported_version = 7;
  refused.status = "rejected";
  refused.error = "unknown module";
  CHECK(judge_change(refused, kOwn)->phase == kRefused);
  CHECK(judge_change(refused, kOwn)->error == "unknown module");
  refused.status = "failed";
  CHECK(phase_of(refused) == kFailed);
  refused.reported_version = 6;
  CHECK(phase_of(refused).empty());
}

TEST_CASE("one that was confirmed and fails later has failed; one that was lost may come back") {
  ChangeEvidence late = with_round(told());
  late.phase = kConfirmed;
  late.states = {standing("service", "failed")};
  CHECK(phase_of(late) == kFailed);
  late.states = {};
  CHECK(phase_of(late).empty());
  ChangeEvidence lost = with_round(told());
  lost.phase = kLost;
  CHECK(phase_of(lost) == kConfirmed);
}

TEST_CASE("of an assignment that was removed any state that fails counts") {
  ChangeEvidence evidence = with_round(told());
  evidence.states = {standing("theirs", "failed")};
  CHECK(judge_change(evidence, {})->phase == kFailed);
  evidence.states = {};
  CHECK(judge_change(evidence, {})->phase == kConfirmed);
}

TEST_CASE("an agent of version 1 never ends a round: its states are enough") {
  ChangeEvidence old = told();
  old.is_version_1 = true;
  old.states = {standing("conf", "kept")};
  CHECK(phase_of(old).empty());
  old.states = {standing("conf", "kept"), standing("service", "changed")};
  CHECK(phase_of(old) == kConfirmed);
}

TEST_CASE("changes have names") {
  CHECK(name_of_change({.recipe = "web", .from_revision = 6, .to_revision = 7}) == "web@7");
  CHECK(name_of_change({.assignment = 3}) == "assignment 3");
}
