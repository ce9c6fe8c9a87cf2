// How the updater answers; whole updates are in tests/update.
#include "agent/updater/updater.hpp"

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

namespace {

using agent::updater::Updater;
using protocol::AgentUpdate;
using update::Phase;
using update::Record;

Record closed(Phase phase, const std::string& version, bool retryable = false) {
  return {.phase = phase,
          .action_id = "a",
          .version = version,
          .from = "1.0.0-aaaaaaaa",
          .to = version + "-bbbbbbbb",
          .reason = "it crashed",
          .retryable = retryable,
          .is_reported = true};
}

// An agent of version 1.0.0 that finds this record.
class Bench {
 public:
  explicit Bench(const Record& record) {
    folder_.folder("state");
    REQUIRE(update::write_journal(state(), record));
    auto spool = agent::reports::Spool::open(folder_ / "spool");
    REQUIRE(spool);
    spool_ = std::move(*spool);
    agent::updater::Settings settings{.state_dir = state(), .version = "1.0.0", .prefix = folder_ / "prefix"};
    settings.is_launched = true;
    updater_ = std::make_unique<Updater>(
        loop_, settings, *spool_,
        Updater::Hooks{.log = [this](auto, const std::string& text) { log_ += text + "\n"; },
                       .spooled = [] {},
                       .drain = [] {},
                       .authorities = [] { return std::string(); }});
    updater_->start("");
  }

  void ask(const std::string& version, const std::string& action) {
    updater_->ask(AgentUpdate{.version = version, .action_id = action});
  }
  Record journal() const { return **update::read_journal(state()); }
  // All that is in the spool, acknowledged or not.
  std::uint64_t reports() const { return spool_->last_seq(); }
  std::string last_report() {
    const auto records = spool_->read_after(reports() - 1, 1, 1 << 20);
    return records.empty() ? "" : records.front().payload;
  }
  bool logs(const std::string& text) const { return log_.find(text) != std::string::npos; }
  agent::reports::Spool& spool() { return *spool_; }

 private:
  std::string state() const { return folder_ / "state"; }

  tests::ScratchFolder folder_;
  transport::Loop loop_{1};
  std::unique_ptr<agent::reports::Spool> spool_;
  std::string log_;
  std::unique_ptr<Updater> updater_;
};

}  // namespace

TEST_CASE("the version that runs is confirmed at once, and what is known of a bad one stays") {
  const Record bad = closed(Phase::rolled_back, "2.0.0");
  Bench bench(bad);
  bench.ask("1.0.0", "b");
  CHECK(bench.reports() == 1);
  CHECK(bench.last_report().find("\"confirmed\"") != std::string::npos);
  CHECK(bench.journal() == bad);
  bench.ask("1.0.0", "b");  // the answer is on its way
  CHECK(bench.reports() == 1);
  bench.spool().acknowledge(1);
  bench.ask("1.0.0", "b");
  CHECK(bench.reports() == 2);
  bench.ask("2.0.0", "c");
  CHECK(bench.last_report().find("not tried again") != std::string::npos);
  CHECK(bench.journal() == bad);
}

TEST_CASE("a request that was closed is not answered twice, unless the answer was lost") {
  Record told = closed(Phase::rolled_back, "2.0.0");
  told.is_reported = false;
  Bench bench(told);
  REQUIRE(bench.reports() == 1);
  CHECK(bench.journal().is_reported);
  bench.ask("2.0.0", "a");
  CHECK(bench.reports() == 1);
  bench.spool().acknowledge(1);
  bench.ask("2.0.0", "a");
  CHECK(bench.reports() == 2);
}

TEST_CASE("a backend of version 1, which asks at every handshake, does not try a version in a circle") {
  const Record unreached = closed(Phase::rolled_back, "2.0.0", true);
  Bench bench(unreached);
  bench.ask("2.0.0", "");
  CHECK(bench.logs("not tried again"));
  CHECK(bench.journal() == unreached);
  CHECK(bench.reports() == 0);

  SUBCASE("one of version 2 may ask again") {
    bench.ask("2.0.0", "b");
    CHECK(bench.last_report().find("not tried again") == std::string::npos);
  }
}

TEST_CASE("an agent that finds itself started in the place of a version on trial closes the update") {
  Record armed = closed(Phase::armed, "2.0.0");
  armed.is_reported = false;
  Bench bench(armed);
  CHECK(bench.journal().phase == Phase::failed);
  CHECK(bench.journal().reason == "interrupted before the switch");
  CHECK(bench.journal().retryable);
  CHECK(bench.journal().is_reported);
}
