#include "agent/updater/request_rules.hpp"

#include <doctest/doctest.h>

namespace {

using agent::updater::decide_request;
using agent::updater::RequestDecision;
using update::Phase;
using Kind = RequestDecision::Kind;

constexpr const char* kRuns = "1.0.0-aaaaaaaa";

// An agent of version 1.0.0 that can be updated, after an update to 2.0.0.
struct Situation {
  update::Progress progress;
  agent::updater::Settings settings{.version = "1.0.0", .release_base = "/releases", .is_launched = true};
  std::string own = kRuns;

  explicit Situation(Phase phase) {
    progress.record = {.phase = phase, .action_id = "a", .version = "2.0.0", .from = kRuns};
    progress.record->reason = "it crashed";
    progress.record->is_reported = is_closed(phase);
  }
  RequestDecision ask(const std::string& version, const std::string& action) const {
    return decide_request(progress, {.version = version, .action_id = action}, settings, own);
  }
  bool refuses(const std::string& version, const std::string& action, const std::string& why) const {
    const RequestDecision decision = ask(version, action);
    return decision.kind == Kind::refuse && decision.why.find(why) != std::string::npos;
  }
};

}  // namespace

TEST_CASE("a machine that was never updated begins what it is asked for") {
  Situation fresh(Phase::confirmed);
  fresh.progress.record.reset();
  CHECK(fresh.ask("2.0.0", "b") == RequestDecision{});
  CHECK(fresh.ask("2.0.0", "") == RequestDecision{});
  CHECK(fresh.ask("1.0.0", "b") == RequestDecision{Kind::confirm, "this version runs already"});
  CHECK(fresh.refuses("../2", "b", "'../2' is not a version"));
}

TEST_CASE("while an update is under way no other one begins, and the same request is nothing new") {
  for (int i = 0; i < static_cast<int>(Phase::confirmed); ++i) {
    const Situation open(static_cast<Phase>(i));
    CHECK(open.ask("2.0.0", "a").kind == Kind::ignore);
    CHECK(open.ask("2.0.0", "").kind == Kind::ignore);  // version 1
    CHECK(open.refuses("2.0.0", "b", "an update is under way, to 2.0.0"));
    CHECK(open.refuses("3.0.0", "", "an update is under way, to 2.0.0"));
    CHECK(open.refuses("1.0.0", "b", "an update is under way, to 2.0.0"));
  }
}

TEST_CASE("a request that was closed is answered again, once its report is stored") {
  for (const Phase phase : {Phase::confirmed, Phase::rolled_back, Phase::failed, Phase::refused}) {
    Situation over(phase);
    CHECK(over.ask("2.0.0", "a").kind == Kind::repeat);
    CHECK(over.ask("3.0.0", "b").kind == Kind::begin);
    over.progress.record->is_reported = false;
    CHECK(over.ask("2.0.0", "a").kind == Kind::ignore);
    CHECK(over.refuses("3.0.0", "b", "the update to 2.0.0 is being closed"));
    CHECK(over.ask("1.0.0", "b").kind == Kind::confirm);
  }
  Situation low(Phase::confirmed);
  low.progress.is_floor_due = true;
  CHECK(low.refuses("3.0.0", "b", "the update to 2.0.0 is being closed"));
}

TEST_CASE("a version that was bad is not tried again, one that may be is") {
  for (const Phase phase : {Phase::rolled_back, Phase::failed}) {
    Situation bad(phase);
    CHECK(bad.refuses("2.0.0", "b", "this version was tried before (it crashed) and is not tried again"));
    CHECK(bad.refuses("2.0.0", "", "not tried again"));
    bad.progress.record->retryable = true;
    CHECK(bad.ask("2.0.0", "b").kind == Kind::begin);
    // A backend of version 1 would go on asking at every handshake.
    CHECK((bad.ask("2.0.0", "").kind == Kind::begin) == (phase == Phase::failed));
  }
  CHECK(Situation(Phase::refused).ask("2.0.0", "b").kind == Kind::begin);
}

TEST_CASE("an agent that cannot be replaced says why") {
  Situation here(Phase::confirmed);
  here.settings.release_base.clear();
  CHECK(here.refuses("3.0.0", "b", "has no release_base"));
  here.own.clear();
  CHECK(here.refuses("3.0.0", "b", "set 'prefix'"));
  here.settings.is_launched = false;
  CHECK(here.refuses("3.0.0", "b", "installed as a package or started by hand"));
  CHECK(here.ask("1.0.0", "b").kind == Kind::confirm);
}
