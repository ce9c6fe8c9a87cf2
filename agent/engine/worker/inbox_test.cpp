#include "agent/engine/worker/inbox.hpp"

#include <doctest/doctest.h>

#include "states/commands.hpp"
#include "tests/support/scratch_folder.hpp"

using agent::engine::Command;
using agent::engine::Inbox;
using agent::engine::Stop;

namespace {

struct Bench {
  base::Channel<Command> commands{16};
  agent::engine::SatisfiedWaits waits;
  std::atomic<bool> must_finish = false;
  Inbox inbox{commands, waits, must_finish};
};

}  // namespace

TEST_CASE("what must finish is not interrupted by a stop, which counts afterwards") {
  Bench bench;
  CHECK_FALSE(bench.inbox.requested());
  bench.inbox.defer(true);
  CHECK(bench.must_finish);
  bench.commands.push(Stop{Stop::When::now});
  CHECK_FALSE(bench.inbox.requested());
  bench.inbox.defer(false);
  CHECK_FALSE(bench.must_finish);
  CHECK(bench.inbox.requested());
}

TEST_CASE(
    "a program that runs undisturbed ends by itself although a stop came, and the next does not begin") {
  Bench bench;
  states::Commands commands(states::Commands::Clock::now() + std::chrono::seconds(60), bench.inbox, {}, {});
  // The stop comes when the program has begun, and the program ends only after that.
  const tests::ScratchFolder folder;
  base::Command program;
  program.argv = {"/bin/sh", "-c",
                  "echo begin; until [ -e " + (folder / "stopped") + " ]; do sleep 0.01; done; echo end"};
  program.on_output = [&](base::Stream, std::string_view text) {
    if (text != "begin\n") return;
    CHECK(bench.must_finish);
    bench.commands.push(Stop{Stop::When::now});
    folder.write("stopped", "");
  };
  const auto done = commands.run_undisturbed(program);
  REQUIRE(done);
  CHECK(done->ok());
  CHECK(done->output == "begin\nend\n");
  CHECK_FALSE(bench.must_finish);
  const auto next = commands.run_undisturbed(program);
  REQUIRE_FALSE(next);
  CHECK(next.error().code() == base::ErrorCode::cancelled);
}
