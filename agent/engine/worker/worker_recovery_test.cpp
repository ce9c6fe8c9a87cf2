// What the engine makes of runs that were killed, readers that are gone, and other runs at the same time.
//
// Compiled alone: its names are those of other tests.
#include <atomic>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>

#include <doctest/doctest.h>

#include "agent/engine/records/journal.hpp"
#include "tests/support/worker_bench.hpp"

namespace {

using namespace agent;
using namespace agent::engine;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
using Bench = tests::WorkerBench;

constexpr auto kTwoFiles = R"(
states:
  - { id: a, module: linux.file, parameter: { path: /dir/a, content: A } }
  - { id: b, module: linux.file, parameter: { path: /dir/b, content: B } }
)";

void write(const std::string& path, std::string_view text) {
  std::ofstream(path) << text;
}

// As a run leaves it that was killed while it made these files of kTwoFiles.
void leave_begun(const Bench& bench, WorkerSettings& settings, const std::vector<std::size_t>& indexes) {
  const auto loaded = recipe::load_text("test.yaml", kTwoFiles, tests::engine_registry());
  REQUIRE(loaded.recipe);
  fs::create_directories(bench.state_path(""));
  auto journal = Journal::open(bench.state_path(settings.journal_name + ".journal"));
  REQUIRE(journal);
  for (const std::size_t index : indexes)
    REQUIRE((*journal)->begin({.digest = loaded.recipe->digest(),
                               .root = settings.host.root,
                               .index = index,
                               .id = index == 0 ? "a" : "b",
                               .changes = {{.what = index == 0 ? "/dir/a" : "/dir/b", .after = "file"}}}));
}

std::vector<Journal::Entry> unfinished(const Bench& bench, const std::string& name = "run") {
  auto journal = Journal::open(bench.state_path(name + ".journal"));
  REQUIRE(journal);
  auto entries = (*journal)->unfinished();
  REQUIRE(entries);
  return *entries;
}

// Keeps all reports.
class KeptReports final : public ReportSink {
 public:
  base::Result<void> append(std::span<const Event>) override { return {}; }
  bool knows(const std::string&) const override { return false; }
};

// A module whose apply() stops at a gate, so that a test can do things meanwhile.
std::atomic<bool> at_gate;
std::atomic<bool> gate_open;
std::atomic<bool> gate_made;

struct NoParams {};

class Gate final : public states::State<NoParams> {
 public:
  constexpr Gate() : State({.name = "test.gate", .works_below_root = true}) {}

 private:
  states::PlanWith<states::NoSteps> plan(const NoParams&, states::Context&) const override {
    if (gate_made) return states::Plan::kept("made");
    return states::Plan{.verdict = states::Verdict::change,
                        .message = "make",
                        .changes = {{.what = "gate", .after = "made"}}};
  }
  states::Applied apply(const NoParams&, const states::Plan&, const states::NoSteps&,
                        states::ApplyContext&) const override {
    at_gate = true;
    while (!gate_open)
      std::this_thread::sleep_for(1ms);
    gate_made = true;
    return states::Applied::done("made");
  }
};

constexpr Gate kGate;
const states::RegistryEntry kGateEntry[] = {{.type = &kGate}};
constexpr auto kOneGate = "states: [{ id: g, module: test.gate }]";

const states::Registry& with_gate() {
  static const states::Registry known{states::native_states(), builtins::builtin_states(),
                                      std::span(kGateEntry)};
  at_gate = gate_open = gate_made = false;
  return known;
}

void wait_at_gate() {
  while (!at_gate)
    std::this_thread::sleep_for(1ms);
}

}  // namespace

TEST_CASE("a change that nobody has heard of stays in the journal and is reported by the next run") {
  Bench bench;
  bench.use_modules(with_gate());
  bench.run(kOneGate);
  wait_at_gate();
  std::thread opener([] {
    std::this_thread::sleep_for(50ms);
    gate_open = true;
  });
  bench.stop();  // its reader goes while the change is being made
  opener.join();
  REQUIRE(gate_made);
  CHECK(unfinished(bench).size() == 1);
  const auto results = bench.apply(kOneGate, true);
  REQUIRE(results.size() == 1);
  CHECK(results[0].outcome == Outcome::changed);
  CHECK(results[0].resumed);
}

TEST_CASE("what a killed run had made after a state that now fails is still reported later") {
  Bench bench;
  write(bench.path("/dir/b"), "B");
  ::chmod(bench.path("/dir/b").c_str(), 0644);
  fs::create_directory(bench.path("/dir/a"));  // in the way of a
  leave_begun(bench, bench.settings(), {0, 1});
  bench.run(kTwoFiles);
  auto end = bench.next<RoundEnd>();
  REQUIRE(end);
  CHECK(end->counts[static_cast<std::size_t>(Outcome::failed)] == 1);
  fs::remove(bench.path("/dir/a"));
  auto result = bench.next<StateResult>();
  while (result && result->id != "b")
    result = bench.next<StateResult>();
  REQUIRE(result);
  CHECK(result->outcome == Outcome::changed);
  CHECK(result->resumed);
  REQUIRE(bench.next<RoundEnd>());
  bench.stop();
  CHECK(unfinished(bench).empty());
}

TEST_CASE("a kill while what was in doubt is written anew leaves no temporary, and is no state's") {
  Bench bench;
  const std::string name = "/dir/.opsagent-0123456789abcdef0123456789abcdef.tmp";
  write(bench.path(name), "half");
  fs::create_directories(bench.state_path(""));
  {
    auto journal = Journal::open(bench.state_path(bench.settings().journal_name + ".journal"));
    REQUIRE(journal);
    // As it is noted before the temporary is made; what was in doubt has a record of its own.
    REQUIRE((*journal)->begin({.root = bench.path(""), .scratch = {name}}));
  }
  bench.run(kTwoFiles);
  std::vector<std::string> told;
  while (auto event = bench.next_event()) {
    if (std::holds_alternative<RoundEnd>(*event)) break;
    if (const auto* result = std::get_if<StateResult>(&*event)) told.push_back(result->id);
    if (const auto* notice = std::get_if<Notice>(&*event)) told.push_back(notice->text);
  }
  CHECK(told == std::vector<std::string>{"a", "b"});
  CHECK_FALSE(fs::exists(bench.path(name)));
  bench.stop();
  CHECK(unfinished(bench).empty());
}

TEST_CASE("the whole of a change that was cut in two is reported, not only its second half") {
  Bench bench;
  write(bench.path("/dir/b"), "b?");
  leave_begun(bench, bench.settings(), {1});
  const auto results = bench.apply(kTwoFiles, true);
  REQUIRE(results.size() == 1);
  REQUIRE(results[0].changes.size() == 2);
  CHECK(results[0].changes[0].what == "/dir/b");  // begun by the killed run, and not to be done now
  CHECK(results[0].changes[1].what == "content of /dir/b");  // done by this one
}

// A run of a person's beside the bench's.
struct OtherRun {
  OtherRun(WorkerSettings settings, const char* yaml, const states::Registry& registry)
      : worker(named(std::move(settings)), std::make_shared<base::Redactor>()) {
    const auto loaded = recipe::load_text("test.yaml", yaml, registry);
    REQUIRE(loaded.recipe);
    worker.commands().push(RunRecipe{.recipe = loaded.recipe, .resume = false});
    worker.commands().push(Stop{Stop::When::end});
  }
  static WorkerSettings named(WorkerSettings settings) {
    settings.journal_name = "apply";
    settings.has_backend = false;
    return settings;
  }
  // Whether all of it was changed, in good time.
  bool changes_all(std::size_t states) {
    const auto deadline = std::chrono::steady_clock::now() + 5s;
    std::size_t changed = 0;
    while (auto event = worker.events().pop_until(deadline))
      if (const auto* result = std::get_if<StateResult>(&*event))
        changed += result->outcome == Outcome::changed;
    return changed == states;
  }
  Worker worker;
};

TEST_CASE("two runs on one state folder wait for each other") {
  Bench bench;
  bench.use_modules(with_gate());
  bench.run(kOneGate);
  wait_at_gate();
  OtherRun second(bench.settings(), kTwoFiles, tests::engine_registry());
  const auto event = second.worker.events().pop();
  REQUIRE(event);
  REQUIRE(std::holds_alternative<Notice>(*event));
  CHECK(std::get<Notice>(*event).text.find("waiting for another run") != std::string::npos);
  CHECK_FALSE(fs::exists(bench.path("/dir/a")));
  bench.send(Stop{Stop::When::end});
  gate_open = true;
  CHECK(second.changes_all(2));
}

TEST_CASE("whoever waits for other machines keeps nobody on this one waiting, and sees what they did") {
  Bench bench(true);
  bench.run(R"(
states:
  - { id: before, module: linux.file, parameter: { path: /dir/sub/before } }
  - { id: w, module: meta.wait }
  - { id: after, module: linux.file, parameter: { path: /dir/sub/after } }
)");
  REQUIRE(bench.next<StateResult>());
  OtherRun second(bench.settings(), R"(
states:
  - { id: gone, module: linux.dir, parameter: { path: /dir/sub, absent: true } }
  - { id: again, module: linux.file, parameter: { path: /dir/sub/other } }
)",
                  tests::engine_registry());
  REQUIRE(second.changes_all(2));
  bench.send(WaitDone{1, "w"});
  for (const char* id : {"w", "after"}) {
    const auto result = bench.next<StateResult>();
    REQUIRE(result);
    CHECK(result->id == id);
    CHECK(result->outcome == Outcome::changed);
  }
  CHECK(fs::exists(bench.path("/dir/sub/after")));
}

TEST_CASE("a wait that is over goes on when the run beside it has ended, not before") {
  Bench bench(true);
  bench.run("states: [{ id: w, module: meta.wait }]");
  REQUIRE(bench.next<RoundStarted>());
  OtherRun second(bench.settings(), kOneGate, with_gate());
  wait_at_gate();
  bench.send(WaitDone{1, "w"});
  CHECK_FALSE(bench.next<StateResult>(300ms));
  SUBCASE("it ends") {
    gate_open = true;
    const auto result = bench.next<StateResult>();
    REQUIRE(result);
    CHECK(result->outcome == Outcome::changed);
  }
  SUBCASE("or this one is told to stop") {
    bench.send(Stop{Stop::When::wait});
    const auto result = bench.next<StateResult>();
    REQUIRE(result);
    CHECK(result->outcome == Outcome::cancelled);
    CHECK(bench.next<Stopped>());
    gate_open = true;
  }
  CHECK(second.changes_all(1));
}

TEST_CASE("a run does not take what another, living one is doing for a leftover") {
  Bench bench;
  bench.use_modules(with_gate());
  bench.settings().journal_name = "apply";
  bench.run(kOneGate);
  wait_at_gate();
  Worker second(bench.settings(), std::make_shared<base::Redactor>());
  const auto loaded = recipe::load_text("test.yaml", kOneGate, with_gate());
  at_gate = true;
  second.commands().push(RunRecipe{.recipe = loaded.recipe, .resume = false});
  second.commands().push(Stop{Stop::When::end});
  auto event = second.events().pop();
  REQUIRE(event);
  REQUIRE(std::holds_alternative<Notice>(*event));  // it waits for the first
  bench.send(Stop{Stop::When::end});
  gate_open = true;
  const auto made = bench.next<StateResult>();
  REQUIRE(made);
  CHECK(made->outcome == Outcome::changed);
  REQUIRE(bench.next<Stopped>());
  while ((event = second.events().pop()))
    if (const auto* result = std::get_if<StateResult>(&*event)) CHECK(result->outcome == Outcome::kept);
}

TEST_CASE("whoever waits for another run stops at once when asked to, and forgets nothing") {
  Bench bench;
  bench.use_modules(with_gate());
  bench.run(kOneGate);
  wait_at_gate();
  WorkerSettings other = bench.settings();
  other.journal_name = "other";
  leave_begun(bench, other, {1});
  Worker second(other, std::make_shared<base::Redactor>());
  const auto loaded = recipe::load_text("test.yaml", kTwoFiles, tests::engine_registry());
  second.commands().push(RunRecipe{.recipe = loaded.recipe});
  REQUIRE(second.events().pop());
  second.commands().push(Stop{Stop::When::wait});
  bool stopped = false;
  const auto deadline = std::chrono::steady_clock::now() + 5s;
  while (auto event = second.events().pop_until(deadline))
    stopped = std::holds_alternative<Stopped>(*event);
  CHECK(stopped);
  gate_open = true;
  CHECK(unfinished(bench, "other").size() == 1);
}

TEST_CASE("a worker that has given up takes no more commands, and keeps nobody waiting") {
  Bench bench;
  bench.settings().state_dir = "/proc/nowhere";
  Worker worker(bench.settings(), std::make_shared<base::Redactor>());
  while (auto event = worker.events().pop())
    if (std::holds_alternative<Stopped>(*event)) break;
  CHECK_FALSE(worker.commands().push(MoveVersion{1}));
}

TEST_CASE("a worker can be destroyed though nobody reads its events and its commands have piled up") {
  Bench bench;
  std::string yaml = "states:\n";
  for (int i = 0; i < 5000; ++i)  // more results than there is room for
    yaml += "  - { id: s" + std::to_string(i) + ", module: meta.comment }\n";
  bench.run(yaml);
  Worker& worker = bench.worker();
  constexpr std::size_t kRoom = 256;
  for (int still = 0; still < 10;) {  // until it takes nothing in any more, and there is no room
    if (worker.commands().size() < kRoom) {
      bench.send(WaitDone{1, "x"});
      still = 0;
    } else {
      std::this_thread::sleep_for(20ms);
      ++still;
    }
  }
  auto gone = std::async(std::launch::async, [&] { bench.stop(); });
  const bool in_time = gone.wait_for(10s) == std::future_status::ready;
  CHECK(in_time);
  if (!in_time) worker.events().close();  // so that the other tests can run
}

TEST_CASE(
    "a worker that is stopped to go on elsewhere is continued with the next state, not with the first") {
  Bench bench;
  bench.use_running_system();
  const std::string log = bench.path("/log");
  std::string recipe = "states:\n";
  for (int i = 0; i < 4; ++i)
    recipe += "  - { id: s" + std::to_string(i) + ", module: linux.cmd, parameter: { cmd: 'echo " +
              std::to_string(i) + " >> " + log + "; sleep 0.2' } }\n";
  bench.run(recipe);
  REQUIRE(bench.next<StateResult>());
  bench.send(Stop{.when = Stop::When::wait, .keeps_place = true});
  std::size_t done = 1;
  while (auto event = bench.next_event()) {
    if (std::holds_alternative<StateResult>(*event)) ++done;
    if (std::holds_alternative<Stopped>(*event)) break;
  }
  REQUIRE(done < 4);
  bench.stop();
  bench.run(recipe);
  const auto started = bench.next<RoundStarted>();
  REQUIRE(started);
  CHECK(started->first == done);
  const auto end = bench.next<RoundEnd>();
  REQUIRE(end);
  CHECK(end->not_reached == 0);
  bench.stop();
  std::ifstream file(log);
  std::stringstream text;
  text << file.rdbuf();
  CHECK(text.str().starts_with("0\n1\n2\n3\n"));

  SUBCASE("and so is the one that continues, however it is ended") {
    fs::remove(log);
    bench.run(recipe);
    REQUIRE(bench.next<StateResult>());
    // To the end: what is cut in the middle is run again, and rightly.
    bench.send(Stop{.when = Stop::When::wait, .keeps_place = true});
    REQUIRE(bench.next<Stopped>());
    bench.stop();
    bench.run(recipe);
    const auto second = bench.next<RoundStarted>();
    REQUIRE(second);
    REQUIRE(bench.next<StateResult>());
    bench.send(Stop{.when = Stop::When::wait});
    REQUIRE(bench.next<Stopped>());
    bench.stop();
    bench.run(recipe);
    const auto third = bench.next<RoundStarted>();
    REQUIRE(third);
    CHECK(third->first > second->first);
    REQUIRE(bench.next<RoundEnd>());
    bench.stop();
    std::ifstream again(log);
    std::stringstream written;
    written << again.rdbuf();
    CAPTURE(written.str());
    CHECK(written.str().starts_with("0\n1\n2\n3\n"));
  }
  SUBCASE("once: the round after it, and the next start, begin with the first") {
    bench.run(recipe);
    CHECK(bench.next<RoundStarted>()->first == 0);
  }
}

TEST_CASE("a command that was begun does not run again when its condition does not hold any more") {
  Bench bench;
  bench.use_running_system();
  const std::string marker = bench.path("/dir/marker");
  const std::string ran = bench.path("/dir/ran");
  std::string text;
  SUBCASE("by the recipe's condition") {
    text = "states: [{ id: c, when: { path_absent: " + marker +
           " }, module: linux.cmd, parameter: { cmd: touch " + ran + " } }]";
  }
  SUBCASE("by a guard of the command") {
    text = "states: [{ id: c, module: linux.cmd, parameter: { cmd: touch " + ran + ", if-path-absent: [" +
           marker + "] } }]";
  }
  const auto loaded = recipe::load_text("test", text, tests::engine_registry());
  REQUIRE(loaded.recipe);
  fs::create_directories(bench.state_path(""));
  auto journal = Journal::open(bench.state_path("run.journal"));
  REQUIRE(journal);
  REQUIRE((*journal)->begin({.digest = loaded.recipe->digest(),
                             .begun_in = {.run_id = "killed", .round = 1},
                             .id = "c",
                             .module = "linux.cmd",
                             .changes = {{.what = "command", .after = "touch"}}}));
  write(marker, "");  // the command made it before it was killed

  auto kept = std::make_shared<KeptReports>();
  bench.settings().reports = kept;
  const auto results = bench.apply(text, true);
  CHECK_FALSE(fs::exists(ran));
  REQUIRE(results.size() == 2);
  CHECK(results[0].outcome == Outcome::cancelled);
  CHECK(results[0].run_id == "killed");
  CHECK(results[0].comment.find("may have been made, in part or in whole") != std::string::npos);
  CHECK(is_success(results[1].outcome));
  CHECK(results[1].changes.empty());
  CHECK(unfinished(bench).empty());
}

TEST_CASE("what can be read again goes on though its condition does not hold any more") {
  Bench bench;
  const std::string text =
      "states: [{ id: f, when: { path_absent: /dir/f }, module: linux.file, parameter: { path: /dir/f, "
      "content: "
      "whole } }]";
  const auto loaded = recipe::load_text("test", text, tests::engine_registry());
  REQUIRE(loaded.recipe);
  fs::create_directories(bench.state_path(""));
  auto journal = Journal::open(bench.state_path("run.journal"));
  REQUIRE((*journal)->begin({.digest = loaded.recipe->digest(),
                             .root = bench.settings().host.root,
                             .id = "f",
                             .changes = {{.what = "/dir/f", .after = "file"}}}));
  write(bench.path("/dir/f"), "half");
  const auto results = bench.apply(text, true);
  REQUIRE(results.size() == 1);
  CHECK(results[0].outcome == Outcome::changed);
}
