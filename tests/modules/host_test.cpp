// What the host makes of modules, good ones and broken ones, as real processes.
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "agent/engine/execution/planner.hpp"
#include "agent/modules/host/module_host.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "tests/support/module_bench.hpp"
#include "tests/support/state_harness.hpp"
#include "tests/support/worker_bench.hpp"

namespace agent::modules {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using tests::ModuleBench;
using tests::StateHarness;

// The machine itself: modules do not work below another root.
struct Machine : StateHarness {
  Machine() : StateHarness(RunningSystem{}) {}
};

// Asks to stop from some moment on.
class StopAfter final : public base::Interrupt {
 public:
  explicit StopAfter(milliseconds wait) : timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
    itimerspec when{};
    when.it_value.tv_nsec = std::chrono::nanoseconds(wait).count();
    ::timerfd_settime(timer_.get(), 0, &when, nullptr);
  }
  bool requested() override {
    pollfd timer{timer_.get(), POLLIN, 0};
    return ::poll(&timer, 1, 0) > 0;
  }
  int wait_fd() const override { return timer_.get(); }

 private:
  const base::UniqueFd timer_;
};

bool is_alive(pid_t pid) {
  return ::kill(pid, 0) == 0;
}

pid_t pid_in(const ModuleBench& bench, const std::string& file) {
  return static_cast<pid_t>(base::parse_integer(base::trim(bench.scratch().read(file))).value_or(0));
}

}  // namespace

TEST_CASE("a module plans, applies and converges as a native state does") {
  ModuleBench bench(tests::kShellMark);
  Machine machine;
  std::string live;
  machine.live = [&](base::Stream, std::string_view data) { live += data; };
  const auto outcome = machine.converge(bench.type(), R"({"text": "x"})");
  CHECK(outcome.ok);
  CHECK(outcome.changed);
  CHECK(outcome.message == "made");
  CHECK(outcome.output == "making it\n");
  CHECK(live == "making it\n");
  CHECK(machine.plan(bench.type(), "{}").verdict == states::Verdict::kept);
}

TEST_CASE(
    "a run applies a module's state beside native ones, and its parameters are checked with the recipe") {
  ModuleBench bench(tests::kShellMark);
  tests::WorkerBench worker;
  worker.use_modules(bench.registry());
  worker.use_running_system();
  const auto results = worker.apply(
      "states: [{id: a, module: acme.test, parameter: {text: x}}, "
      "{id: b, module: meta.comment}]");
  REQUIRE(results.size() == 2);
  CHECK(results[0].outcome == engine::Outcome::changed);
  CHECK(results[0].max_rss_kb > 0);
  CHECK(results[1].outcome == engine::Outcome::kept);
  const auto loaded = recipe::load_text("r.yaml",
                                        "states:\n  - id: a\n    module: acme.tset\n  - id: b\n    module: "
                                        "acme.test\n    parameter: {txt: 1}\n",
                                        bench.registry());
  REQUIRE(loaded.problems.size() == 2);
  CHECK(recipe::describe(loaded.problems[0], "r.yaml") ==
        "r.yaml:3:13: [a] Unsupported module 'acme.tset'; did you mean 'acme.test'?");
  CHECK(recipe::describe(loaded.problems[1], "r.yaml") ==
        "r.yaml:6:17: [b] Unknown parameter 'txt' of acme.test; did you mean 'text'?");
}

TEST_CASE("one process plans all states of a module") {
  ModuleBench bench(
      "hello\nn=0\nwhile next; do n=$((n+1)); answer "
      "'{\"type\":\"planned\",\"id\":'$id',\"verdict\":\"kept\",\"message\":\"'$n'\"}'; done\n");
  Machine machine;
  for (int i = 1; i <= 20; ++i)
    REQUIRE(machine.plan(bench.type(), "{}").message == std::to_string(i));
  CHECK(bench.host().running() == 1);
}

TEST_CASE("an idle process is stopped, and started again when it is needed") {
  ModuleBench bench(tests::kShellMark, "", {.idle = milliseconds(50)});
  Machine machine;
  REQUIRE(machine.plan(bench.type(), "{}").verdict == states::Verdict::change);
  for (int i = 0; i < 100 && bench.host().running() > 0; ++i)
    std::this_thread::sleep_for(milliseconds(20));
  CHECK(bench.host().running() == 0);
  CHECK(machine.plan(bench.type(), "{}").verdict == states::Verdict::change);
}

TEST_CASE("whatever a module does wrong fails its state, with a message that says which") {
  struct Row {
    const char* script;
    const char* said;
  };
  for (const Row& row : {
           Row{"echo why >&2; exit 3\n",
               "Module 'acme.test' exited with status 3 without an answer; it printed: why"},
           Row{"kill -9 $$\n", "was ended by signal 9 without an answer"},
           Row{"exec 4>&-\nsleep 100\n", "closed descriptor 4 without an answer"},
           Row{"answer hi\nsleep 100\n", "that is not JSON"},
           Row{"answer '{\"type\":\"hello\",\"protocol\":1,\"module\":\"other\",\"version\":\"1.0\"}'\nsleep "
               "100\n",
               "says that it is 'other'; its manifest says 'acme.test'"},
           Row{"hello\nnext\nanswer nonsense\nnext\n", "that is not JSON"},
           Row{"hello\nnext\nid=99\nkept\nnext\n",
               "answered with another id (99) than that of the request (1)"},
           Row{"hello\nnext\nx=$(kept 4>&1)\nanswer \"$x\n$x\"\nnext\n", "answered twice"},
           Row{"hello\nnext\napplied\nnext\n", "answered with type 'applied'; 'planned' was asked for"},
           Row{"hello\nnext\nexit 0\n", "exited with status 0 without an answer"},
           Row{"hello\nnext\nhead -c 3000000 /dev/zero | tr '\\0' x >&4\nnext\n",
               "a line of more than 1 MiB"},
           Row{"hello\nnext\nexec 3<&-\nexec 4>&-\nsleep 100\n", "closed descriptor 4 without an answer"},
       }) {
    CAPTURE(row.script);
    ModuleBench bench(row.script);
    Machine machine;
    const states::Plan plan = machine.plan(bench.type(), "{}");
    CHECK(plan.verdict == states::Verdict::fail);
    CHECK_MESSAGE(plan.message.find(row.said) != std::string::npos, plan.message);
    CHECK(bench.host().running() == 0);
  }
}

TEST_CASE("a second answer that comes later is found before the next request") {
  ModuleBench bench("hello\nnext\nkept\nsleep 0.2\nkept\nnext\nkept\nnext\n");
  Machine machine;
  CHECK(machine.plan(bench.type(), "{}").verdict == states::Verdict::kept);
  std::this_thread::sleep_for(milliseconds(500));
  const states::Plan plan = machine.plan(bench.type(), "{}");
  CHECK(plan.verdict == states::Verdict::fail);
  CHECK(plan.message.find("wrote to descriptor 4 without being asked") != std::string::npos);
}

TEST_CASE("a module that hangs is ended with its whole tree within a second of its deadline") {
  // It does not hear TERM, and has a child in a session of its own.
  ModuleBench bench(
      "trap '' TERM\nhello\nnext\nsetsid sh -c 'trap \"\" TERM; sleep 1000' & echo $! > /dev/null\n"
      "while :; do sleep 1; done\n");
  Machine machine;
  machine.timeout = std::chrono::seconds(1);
  const auto started = steady_clock::now();
  const states::Plan plan = machine.plan(bench.type(), "{}");
  const auto took = steady_clock::now() - started;
  CHECK(plan.verdict == states::Verdict::fail);
  CHECK(plan.message.find("did not answer in time") != std::string::npos);
  CHECK(took < milliseconds(2000));
  CHECK(bench.host().running() == 0);
}

TEST_CASE("what a module forks away ends with it") {
  ModuleBench forks("hello\nif next; then setsid sleep 1000 & echo $! > \"$mark.child\"; exit 0; fi\n",
                    "\"supports_plan\": false");
  Machine machine;
  const states::Plan plan = machine.plan(forks.type(), "{}");
  REQUIRE(plan.verdict == states::Verdict::change);
  const states::Applied applied = machine.apply(forks.type(), "{}", plan);
  CHECK_FALSE(applied.ok());
  CHECK(applied.comment.find("exited with status 0 without an answer") != std::string::npos);
  const pid_t child = pid_in(forks, "mark.child");
  REQUIRE(child > 0);
  CHECK_FALSE(is_alive(child));
}

TEST_CASE("a module that is told to stop may finish its answer, and is kept; one that does not is ended") {
  SUBCASE("it answers") {
    ModuleBench bench("hello\nwhile next; do if is_plan; then asked=$id; next; id=$asked; kept; fi; done\n");
    Machine machine;
    StopAfter stop(milliseconds(200));
    machine.interrupt = &stop;
    const states::Plan plan = machine.plan(bench.type(), "{}");
    CHECK(plan.verdict == states::Verdict::fail);
    CHECK(plan.message.starts_with("Cancelled"));
    CHECK(bench.host().running() == 1);
  }
  SUBCASE("it does not") {
    ModuleBench bench("hello\nnext\nnext\nexit 0\n", "\"supports_plan\": false");
    Machine machine;
    StopAfter stop(milliseconds(200));
    machine.interrupt = &stop;
    const states::Applied applied = machine.apply(bench.type(), "{}", machine.plan(bench.type(), "{}"));
    CHECK(applied.end == states::AppliedEnd::cancelled);
    CHECK(bench.host().running() == 0);
  }
}

TEST_CASE("a plan cannot write, nor make the file systems writable, and has no network") {
  ModuleBench bench(R"sh(hello
next
said=
true 2>/dev/null > "$mark" && said="wrote a file"
true 2>/dev/null > /tmp/opsagent-module-wrote && said="$said wrote to /tmp"
mount -o remount,rw / 2>/dev/null && said="$said mounted"
[ "$(grep -c : /proc/net/dev)" = 1 ] || said="$said has a network"
if [ -z "$said" ]; then kept; else answer '{"type":"planned","id":1,"verdict":"fail","message":"'"$said"'"}'; fi
next
)sh");
  Machine machine;
  const states::Plan plan = machine.plan(bench.type(), "{}");
  CHECK_MESSAGE(plan.verdict == states::Verdict::kept, plan.message);
  CHECK_FALSE(bench.scratch().exists("mark"));
}

TEST_CASE("a plan that needs the network has it, because the manifest says so") {
  ModuleBench bench(R"sh(hello
next
if [ "$(grep -c : /proc/net/dev)" -gt 1 ]; then kept; else change; fi
next
)sh",
                    R"("plan_needs": "network: asks a registry")");
  std::ifstream devices("/proc/net/dev");
  const auto here = std::count(std::istreambuf_iterator<char>(devices), {}, ':');
  Machine machine;
  CHECK(machine.plan(bench.type(), "{}").verdict ==
        (here > 1 ? states::Verdict::kept : states::Verdict::change));
}

TEST_CASE("a module that takes too much memory fails, and nobody else does") {
  ModuleBench bench(
      "hello\nnext\nhead -c 200000000 /dev/zero | tail -n 1 > /dev/null || { echo too much >&2; exit 1; }\n"
      "kept\nnext\n",
      R"("limits": {"memory_mb": 32})");
  Machine machine;
  const states::Plan plan = machine.plan(bench.type(), "{}");
  CHECK(plan.verdict == states::Verdict::fail);
  CHECK_MESSAGE(plan.message.find("too much") != std::string::npos, plan.message);
}

TEST_CASE("a module runs as the user that its manifest names") {
  if (::geteuid() != 0) return;
  ModuleBench bench("hello\nnext\nid -un >&2\napplied\nnext\n",
                    R"("run_as": "nobody", "supports_plan": false)");
  Machine machine;
  const states::Applied applied = machine.apply(bench.type(), "{}", machine.plan(bench.type(), "{}"));
  CHECK_MESSAGE(applied.ok(), applied.comment);
  CHECK(applied.output == "nobody\n");
  ModuleBench unknown("hello\n", R"("run_as": "nobody-of-this-name")");
  CHECK(machine.plan(unknown.type(), "{}").message.find("who does not exist") != std::string::npos);
}

TEST_CASE("a flood of output costs no memory and is shown cut") {
  ModuleBench bench("hello\nnext\nhead -c 5000000 /dev/zero | tr '\\0' x\napplied\nnext\n",
                    R"("supports_plan": false)");
  Machine machine;
  const states::Applied applied = machine.apply(bench.type(), "{}", machine.plan(bench.type(), "{}"));
  CHECK(applied.ok());
  CHECK(applied.output.size() < 200'000);
  CHECK(applied.output.find("bytes dropped") != std::string::npos);
}

TEST_CASE("a secret parameter reaches the module and nobody else") {
  ModuleBench bench("hello\nnext\necho \"$line\"\napplied\nnext\n", R"("supports_plan": false)");
  tests::WorkerBench worker;
  worker.use_modules(bench.registry());
  worker.use_running_system();
  const auto results = worker.apply(
      "states: [{id: a, module: acme.test, parameter: {token: correct-horse-battery, text: seen}}]");
  REQUIRE(results.size() == 1);
  CHECK(results[0].outcome == engine::Outcome::changed);
  CHECK(results[0].output.find("seen") != std::string::npos);
  CHECK(results[0].output.find("correct-horse") == std::string::npos);
}

TEST_CASE("a module that cannot plan is applied in every round, and a plan says that it is unknown") {
  ModuleBench bench("hello\nwhile next; do applied; done\n", R"("supports_plan": false)");
  tests::WorkerBench worker;
  worker.use_modules(bench.registry());
  worker.use_running_system();
  const std::string recipe = "states: [{id: a, module: acme.test}]";
  for (int i = 0; i < 2; ++i) {
    const auto results = worker.apply(recipe);
    REQUIRE(results.size() == 1);
    CHECK(results[0].outcome == engine::Outcome::changed);
  }
  const auto loaded = recipe::load_text("r", recipe, bench.registry());
  base::NoInterrupt interrupt;
  const auto planned =
      engine::plan_recipe(*loaded.recipe, worker.settings().host, base::Redactor(), interrupt, {});
  REQUIRE(planned.states.size() == 1);
  CHECK(planned.states[0].verdict == states::Verdict::unknown);
}

TEST_CASE("other states go on after one whose module hangs") {
  ModuleBench bench("hello\nnext\nsleep 1000\n");
  tests::WorkerBench worker;
  worker.use_modules(bench.registry());
  worker.use_running_system();
  const auto started = steady_clock::now();
  const auto results =
      worker.apply("states: [{id: b, module: meta.comment}, {id: a, module: acme.test, timeout: 1}]");
  REQUIRE(results.size() == 2);
  CHECK(results[0].outcome == engine::Outcome::kept);
  CHECK(results[1].outcome == engine::Outcome::failed);
  CHECK(steady_clock::now() - started < milliseconds(2500));
}

}  // namespace agent::modules
