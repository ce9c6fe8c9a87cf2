#include "agent/engine/worker/worker.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "agent/engine/records/journal.hpp"
#include "base/fnv.hpp"
#include "base/text.hpp"
#include "tests/support/worker_bench.hpp"

namespace {

using namespace agent;
using namespace agent::engine;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

using Bench = tests::WorkerBench;
using tests::engine_registry;

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr auto kTwoFiles = R"(
states:
  - { id: a, module: linux.file, parameter: { path: /dir/a, content: A } }
  - { id: b, module: linux.file, parameter: { path: /dir/b, content: B } }
)";

}  // namespace

TEST_CASE("a recipe is applied in order and kept the second time") {
  Bench bench;
  auto first = bench.apply(kTwoFiles);
  REQUIRE(first.size() == 2);
  CHECK(first[0].id == "a");
  CHECK(first[0].outcome == Outcome::changed);
  CHECK(first[1].outcome == Outcome::changed);
  CHECK(read(bench.path("/dir/b")) == "B");
  auto second = bench.apply(kTwoFiles);
  REQUIRE(second.size() == 2);
  CHECK(second[0].outcome == Outcome::kept);
  CHECK(second[1].comment == "/dir/b is as wanted");
}

TEST_CASE("rounds repeat, repair exactly what drifted, and name it") {
  Bench bench;
  bench.run(kTwoFiles);
  auto end = bench.next<RoundEnd>();
  REQUIRE(end);
  CHECK(end->round == 1);
  CHECK(end->counts[static_cast<std::size_t>(Outcome::changed)] == 2);
  CHECK(end->drift.empty());
  std::ofstream(bench.path("/dir/b")) << "broken";
  do {
    end = bench.next<RoundEnd>();
    REQUIRE(end);
  } while (end->drift.empty() && end->round < 50);
  CHECK(end->drift == std::vector<std::string>{"b"});
  CHECK(end->counts[static_cast<std::size_t>(Outcome::changed)] == 1);
  CHECK(read(bench.path("/dir/b")) == "B");
}

TEST_CASE("a failed state ends the round, and the next starts from the first state after a growing pause") {
  Bench bench;
  fs::create_directory(bench.path("/dir/b"));
  bench.run(R"(
states:
  - { id: a, module: linux.file, parameter: { path: /dir/a, content: A } }
  - { id: b, module: linux.file, parameter: { path: /dir/b, content: B } }
  - { id: c, module: linux.file, parameter: { path: /dir/c, content: C } }
)");
  std::vector<std::chrono::milliseconds> pauses;
  for (int i = 0; i < 4; ++i) {
    const auto end = bench.next<RoundEnd>();
    REQUIRE(end);
    CHECK(end->counts[static_cast<std::size_t>(Outcome::failed)] == 1);
    CHECK(end->not_reached == 1);
    pauses.push_back(end->next.value());
  }
  CHECK(pauses == std::vector<std::chrono::milliseconds>{10ms, 20ms, 40ms, 40ms});
  CHECK_FALSE(fs::exists(bench.path("/dir/c")));
  fs::remove(bench.path("/dir/b"));
  auto end = bench.next<RoundEnd>();
  while (end && end->not_reached > 0)
    end = bench.next<RoundEnd>();
  REQUIRE(end);
  CHECK(end->next == 20ms);
  CHECK(fs::exists(bench.path("/dir/c")));
}

TEST_CASE("a new recipe replaces the old one; the same version again is a no-op") {
  Bench bench;
  bench.settings().round_delay = 1h;
  bench.run(kTwoFiles, 1);
  REQUIRE(bench.next<RoundEnd>());
  bench.run("states: []", 1);  // ignored
  CHECK_FALSE(bench.next<RoundEnd>(50ms));
  bench.run("states: [{ id: x, module: linux.file, parameter: { path: /dir/x, content: X } }]", 2);
  const auto end = bench.next<RoundEnd>();
  REQUIRE(end);
  CHECK(end->version == 2);
  CHECK(fs::exists(bench.path("/dir/x")));
}

TEST_CASE("a header-only message moves the version and nothing else") {
  Bench bench;
  bench.run(kTwoFiles, 1);
  REQUIRE(bench.next<RoundEnd>());
  bench.send(MoveVersion{7});
  auto end = bench.next<RoundEnd>();
  while (end && end->version != 7)
    end = bench.next<RoundEnd>();
  REQUIRE(end);
  CHECK(end->counts[static_cast<std::size_t>(Outcome::kept)] == 2);
}

TEST_CASE("meta.wait blocks until it is told, remembers it, and passes at once in later rounds") {
  Bench bench(true);
  const std::string yaml = R"(
states:
  - { id: w, module: meta.wait, parameter: { state: ["db/schema"] } }
  - { id: a, module: linux.file, parameter: { path: /dir/a, content: A } }
)";
  bench.run(yaml, 3);
  CHECK_FALSE(bench.next<StateResult>(60ms));
  bench.send(WaitDone{2, "w"});  // of another version: ignored
  CHECK_FALSE(bench.next<StateResult>(60ms));
  bench.send(WaitDone{3, "w"});
  auto result = bench.next<StateResult>();
  REQUIRE(result);
  CHECK(result->id == "w");
  CHECK(is_success(result->outcome));
  REQUIRE(bench.next<RoundEnd>());
  const auto end = bench.next<RoundEnd>();
  REQUIRE(end);
  CHECK(end->counts[static_cast<std::size_t>(Outcome::kept)] == 2);
  // After a restart it is told with the recipe; the file is ActiveRecipe's.
  bench.stop();
  bench.start();
  const auto loaded = recipe::load_text("test", yaml, tests::engine_registry());
  bench.send(RunRecipe{.recipe = loaded.recipe, .version = 3, .done_waits = {"w"}});
  REQUIRE(bench.next<RoundEnd>());
}

TEST_CASE("a wait passes at once when it is known to be done under the version that is moved to") {
  Bench bench(true);
  bench.run("states: [{ id: w, module: meta.wait, parameter: {} }]", 3);
  CHECK_FALSE(bench.next<StateResult>(50ms));
  bench.send(MoveVersion{4, {"w"}});
  const auto result = bench.next<StateResult>();
  REQUIRE(result);
  CHECK(result->version == 4);
  CHECK(is_success(result->outcome));
}

TEST_CASE("events carry the run id that came with the recipe") {
  Bench bench;
  bench.start();
  const auto loaded = recipe::load_text("test", kTwoFiles, tests::engine_registry());
  bench.send(RunRecipe{.recipe = loaded.recipe, .run_id = "mine"});
  CHECK(bench.next<RoundStarted>()->run_id == "mine");
  CHECK(bench.next<StateResult>()->run_id == "mine");
  CHECK(bench.next<RoundEnd>()->run_id == "mine");
}

TEST_CASE("a wait that was done when the recipe came passes at once") {
  Bench bench(true);
  bench.start();
  const auto loaded = recipe::load_text("test", "states: [{ id: w, module: meta.wait, parameter: {} }]",
                                        tests::engine_registry());
  bench.send(RunRecipe{.recipe = loaded.recipe, .version = 1, .done_waits = {"w"}});
  const auto end = bench.next<RoundEnd>();
  REQUIRE(end);
  CHECK(end->counts[static_cast<std::size_t>(Outcome::kept)] == 1);
}

TEST_CASE("what was done under a number before counts for no recipe that comes with it") {
  Bench bench(true);
  bench.start();
  bench.send(WaitDone{1, "w"});
  bench.run("states: [{ id: w, module: meta.wait, parameter: {} }]", 1);
  CHECK_FALSE(bench.next<StateResult>(50ms));
  bench.send(WaitDone{1, "w"});
  const auto end = bench.next<RoundEnd>();
  REQUIRE(end);
  CHECK(end->counts[static_cast<std::size_t>(Outcome::changed)] == 1);
}

TEST_CASE("a wait ends when the recipe is replaced, and without a backend it fails with advice") {
  Bench bench(true);
  bench.run("states: [{ id: w, module: meta.wait, parameter: {} }]", 1);
  CHECK_FALSE(bench.next<StateResult>(50ms));
  bench.run(kTwoFiles, 2);
  auto end = bench.next<RoundEnd>();
  while (end && end->version != 2)
    end = bench.next<RoundEnd>();
  REQUIRE(end);
  Bench alone;
  const auto results = alone.apply("states: [{ id: w, module: meta.wait, parameter: {} }]");
  REQUIRE(results.size() == 1);
  CHECK(results[0].outcome == Outcome::failed);
  CHECK(results[0].comment.find("--assume-done w") != std::string::npos);
}

TEST_CASE("when decides whether a state runs, and a skipped one lets the round go on") {
  Bench bench;
  const auto results = bench.apply(R"(
states:
  - { id: a, module: linux.file, parameter: { path: /dir/a }, when: { path_exists: /nowhere } }
  - { id: b, module: linux.file, parameter: { path: /dir/b }, when: { path_exists: /dir, path_absent: [/nowhere] } }
  - { id: c, module: linux.file, parameter: { path: /dir/c }, when: { os: [plan9] } }
)");
  REQUIRE(results.size() == 3);
  CHECK(results[0].outcome == Outcome::skipped);
  CHECK(results[1].outcome == Outcome::changed);
  CHECK(results[2].outcome == Outcome::skipped);
}

TEST_CASE("retries try again and say how often") {
  Bench bench;
  fs::create_directory(bench.path("/dir/a"));
  const auto results = bench.apply(
      "states: [{ id: a, retries: 2, module: linux.file, parameter: { path: /dir/a, content: A } }]");
  REQUIRE(results.size() == 1);
  CHECK(results[0].outcome == Outcome::failed);
  CHECK(results[0].attempt == 3);
}

TEST_CASE("a sensitive state shows that something changed, never what") {
  Bench bench;
  const auto results = bench.apply(
      "states: [{ id: s, sensitive: true, module: linux.file, parameter: { path: /dir/s, content: "
      "hunter2-hunter2 } }]");
  REQUIRE(results.size() == 1);
  CHECK(results[0].outcome == Outcome::changed);
  CHECK(results[0].output.find("hunter2") == std::string::npos);
  for (const auto& change : results[0].changes) {
    CHECK(change.diff.empty());
    CHECK(change.after.find("hunter2") == std::string::npos);
  }
}

TEST_CASE("what a program of a sensitive state prints is neither streamed nor in the result") {
  Bench bench;
  bench.use_running_system();
  bench.run(
      "states: [{ id: s, sensitive: true, module: linux.cmd, parameter: { cmd: \"echo hunter2; exit 3\" } "
      "}]");
  std::optional<StateResult> result;
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (auto event = bench.worker().events().pop_until(deadline)) {
    CHECK_FALSE(std::holds_alternative<StateOutput>(*event));
    if (auto* found = std::get_if<StateResult>(&*event)) {
      result = std::move(*found);
      break;
    }
  }
  REQUIRE(result);
  CHECK(result->outcome == Outcome::failed);
  CHECK(result->output == "(sensitive output)");
  CHECK(result->comment.find("hunter2") == std::string::npos);
}

TEST_CASE("live output comes in whole characters, however a program writes them, and to its last byte") {
  Bench bench;
  bench.use_running_system();
  bench.run(R"(
states:
  - id: s
    module: linux.cmd
    parameter:
      cmd: |
        printf 'caf\303'; sleep 0.2; printf '\251\n\342\202'; sleep 0.2; printf '\254\303'
)");
  std::string whole;
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (auto event = bench.worker().events().pop_until(deadline)) {
    if (const auto* output = std::get_if<StateOutput>(&*event)) {
      if (output->data != "\xC3") CHECK(base::is_utf8(output->data));  // the last, which nothing follows
      whole += output->data;
    }
    if (std::holds_alternative<StateResult>(*event)) break;
  }
  CHECK(whole == "caf\xC3\xA9\n\xE2\x82\xAC\xC3");
}

TEST_CASE("what a killed run had begun is swept, planned again and reported as changed") {
  Bench bench;
  auto loaded = recipe::load_text("test.yaml", kTwoFiles, engine_registry());
  // As if the process had died between the rename of b and its report, with a temporary of a left behind.
  bench.apply(kTwoFiles);
  fs::create_directories(bench.state_path(""));
  // One is named as older versions did, the other is in a folder of its own, as where others can write.
  const std::string scratch = "/dir/.opsagent-" + base::fnv1a_hex("b") + ".tmp";
  const std::string own = "/dir/.opsagent-0123456789abcdef0123456789abcdef.tmp";
  std::ofstream(bench.path(scratch)) << "half";
  fs::create_directory(bench.path(own));
  fs::permissions(bench.path(own), fs::perms::owner_all);
  std::ofstream(bench.path(own + own.substr(4))) << "half";
  {
    auto journal = Journal::open(bench.state_path("run.journal"));
    REQUIRE(journal);
    REQUIRE((*journal)->begin({.digest = loaded.recipe->digest(),
                               .root = bench.settings().host.root,
                               .begun_in = {.round = 1},
                               .index = 1,
                               .id = "b",
                               .plan = "x",
                               .changes = {{.what = "/dir/b", .before = "absent", .after = "file"}},
                               .scratch = {scratch, own}}));
  }
  SUBCASE("a daemon goes on with the state that was under way") {
    const auto results = bench.apply(kTwoFiles, true);
    REQUIRE(results.size() == 1);
    CHECK(results[0].id == "b");
    CHECK(results[0].outcome == Outcome::changed);
    CHECK(results[0].resumed);
    REQUIRE(results[0].changes.size() == 1);
    CHECK(results[0].changes[0].after == "file");
  }
  SUBCASE("apply looks at everything, and reports the change all the same") {
    const auto results = bench.apply(kTwoFiles, false);
    REQUIRE(results.size() == 2);
    CHECK(results[0].outcome == Outcome::kept);
    CHECK(results[1].outcome == Outcome::changed);
    CHECK(results[1].resumed);
  }
  SUBCASE("another recipe does not take it over, but the temporary goes") {
    const auto results =
        bench.apply("states: [{ id: b, module: linux.file, parameter: { path: /dir/b, content: B } }]");
    REQUIRE(results.size() == 1);
    CHECK(results[0].outcome == Outcome::kept);
  }
  CHECK_FALSE(fs::exists(bench.path(scratch)));
  CHECK_FALSE(fs::exists(bench.path(own)));
  CHECK(read(bench.state_path("run.journal")).empty());
}

TEST_CASE("a torn journal line is ignored") {
  Bench bench;
  fs::create_directories(bench.state_path(""));
  std::ofstream(bench.state_path("run.journal")) << "0123456789abcdef {\"begin\":\"a\"}\n00 {\"beg";
  CHECK(bench.apply(kTwoFiles).size() == 2);
}

TEST_CASE("a worker that cannot keep its state says so and touches nothing") {
  Bench bench;
  bench.settings().state_dir = "/proc/nowhere";
  bench.start();
  bench.run(kTwoFiles);
  const auto notice = bench.next<Notice>();
  REQUIRE(notice);
  CHECK(notice->text.find("/proc/nowhere") != std::string::npos);
  CHECK(bench.next<Stopped>());
  CHECK_FALSE(fs::exists(bench.path("/dir/a")));
}

TEST_CASE("plan mode answers with a plan and changes nothing") {
  Bench bench;
  bench.start();
  auto loaded = recipe::load_text("t.yaml", kTwoFiles, engine_registry());
  bench.send(PlanRecipe{.recipe = loaded.recipe, .version = 4});
  const auto planned = bench.next<PlanResult>();
  REQUIRE(planned);
  CHECK(planned->version == 4);
  CHECK(planned->states.size() == 2);
  CHECK_FALSE(fs::exists(bench.path("/dir/a")));
}
