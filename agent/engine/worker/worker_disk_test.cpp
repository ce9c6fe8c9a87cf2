// What becomes of rounds where the disk, or somebody's file, is in the way of the agent's own files; and what
// it does about files that may not be on disk.
//
// Compiled alone: its names are those of other tests.
#include <sys/file.h>
#include <sys/mount.h>

#include <fstream>

#include <doctest/doctest.h>

#include "agent/engine/records/journal.hpp"
#include "base/unique_fd.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/worker_bench.hpp"

namespace {

using namespace agent::engine;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
using Bench = tests::WorkerBench;

constexpr auto kOneFile = "states: [{ id: a, module: linux.file, parameter: { path: /dir/a, content: A } }]";

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// A module whose plan looks at a file that is larger than it can read in any time.
struct NoParams {};

std::string endless_file;

class Endless final : public states::State<NoParams> {
 public:
  constexpr Endless()
      : State({.name = "test.endless", .works_below_root = true, .timeout = std::chrono::seconds(600)}) {}

 private:
  states::PlanWith<states::NoSteps> plan(const NoParams&, states::Context& context) const override {
    const auto read = context.tree.read_pieces(endless_file, [](std::string_view) {});
    return read ? states::Plan::kept("read") : states::Plan::fail(read.error());
  }
  states::Applied apply(const NoParams&, const states::Plan&, const states::NoSteps&,
                        states::ApplyContext&) const override {
    return states::Applied::done("");
  }
};

constexpr Endless kEndless;
const states::RegistryEntry kEndlessEntry[] = {{.type = &kEndless}};

const states::Registry& with_endless() {
  static const states::Registry known{states::native_states(), builtins::builtin_states(),
                                      std::span(kEndlessEntry)};
  return known;
}

// Away before the scratch folder that it is in.
struct Mounted {
  explicit Mounted(std::string at) : path(std::move(at)) {}
  ~Mounted() { ::umount2(path.c_str(), MNT_DETACH); }
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;
  const std::string path;
};

void make_endless(const Bench& bench) {
  endless_file = "/dir/endless";
  std::ofstream(bench.path(endless_file)) << "x";
  fs::resize_file(bench.path(endless_file), std::uintmax_t{1} << 43U);  // sparse: it takes no room
}

}  // namespace

TEST_CASE("native work ends when the time of its state is over, and the next round comes") {
  Bench bench;
  bench.use_modules(with_endless());
  make_endless(bench);
  bench.run("states: [{ id: e, module: test.endless, timeout: 1 }, { id: n, module: meta.comment }]");
  const auto started = std::chrono::steady_clock::now();
  const auto result = bench.next<StateResult>(30s);
  REQUIRE(result);
  CHECK(result->outcome == Outcome::timed_out);
  CHECK_MESSAGE(has(result->comment, "Timed out after 1 s: "), result->comment);
  CHECK(std::chrono::steady_clock::now() - started < 10s);
  fs::resize_file(bench.path(endless_file), 1);
  const auto next = bench.next<StateResult>(30s);
  REQUIRE(next);
  CHECK(next->outcome == Outcome::kept);
}

TEST_CASE("native work ends when somebody asks to stop now") {
  Bench bench;
  bench.use_modules(with_endless());
  make_endless(bench);
  bench.run("states: [{ id: e, module: test.endless }]");
  REQUIRE(bench.next<RoundStarted>());
  REQUIRE_FALSE(bench.next<StateResult>(300ms));  // it is at work
  bench.send(Stop{Stop::When::now});
  const auto result = bench.next<StateResult>(30s);
  REQUIRE(result);
  CHECK(result->outcome == Outcome::cancelled);
  CHECK(bench.next<Stopped>(30s));
}

TEST_CASE("a round without its lock or journal says so, with what to do, and is tried again") {
  for (const char* name : {"lock", "run.journal"}) {
    CAPTURE(name);
    Bench bench;
    bench.settings().longest_back_off = 50ms;
    fs::create_directories(bench.state_path(name));  // a folder in its place
    bench.run(kOneFile);
    const auto end = bench.next<RoundEnd>();
    REQUIRE(end);
    CHECK_MESSAGE(has(end->problem, bench.state_path(name)), end->problem);
    CHECK_MESSAGE(has(end->problem, "no state was looked at: "), end->problem);
    CHECK_MESSAGE(has(end->problem, "Move what is there away"), end->problem);
    CHECK(end->not_reached == 1);
    CHECK(end->next == 50ms);
    CHECK_FALSE(fs::exists(bench.path("/dir/a")));
    fs::remove(bench.state_path(name));
    const auto result = bench.next<StateResult>();
    REQUIRE(result);
    CHECK(result->outcome == Outcome::changed);
    const auto good = bench.next<RoundEnd>();
    REQUIRE(good);
    CHECK(good->problem.empty());
  }
}

TEST_CASE("whoever waits for another run says for whom, as what holds up the round") {
  Bench bench;
  fs::create_directories(bench.state_path(""));
  const base::UniqueFd held(::open(bench.state_path("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::flock(held.get(), LOCK_EX) == 0);
  REQUIRE(::write(held.get(), "             77\n", 16) == 16);
  bench.run(kOneFile);
  const auto notice = bench.next<Notice>();
  REQUIRE(notice);
  CHECK(notice->text == "waiting for another run to end (process 77)");
  CHECK(notice->holds_up == Notice::HoldsUp::for_a_while);
  REQUIRE(::flock(held.get(), LOCK_UN) == 0);
  CHECK(bench.next<StateResult>());
}

TEST_CASE("what a killed run has left in the state folder goes before anything else") {
  for (const bool can_lock : {true, false}) {
    Bench bench;
    fs::create_directories(bench.state_path("validate"));
    std::ofstream(bench.state_path("validate/shadow")) << "secret";
    // "tmp", on its way.
    const std::string scratch = bench.state_path(".opsagent-0123456789abcdef0123456789abcdef.tmp");
    fs::create_directory(scratch);
    const base::UniqueFd held(::open(bench.state_path("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!can_lock) REQUIRE(::flock(held.get(), LOCK_EX) == 0);
    bench.start();  // without any recipe
    const auto deadline = std::chrono::steady_clock::now() + (can_lock ? 5s : 200ms);
    while (fs::exists(bench.state_path("validate")) && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(5ms);
    // Whoever has the lock may be validating.
    CHECK(fs::exists(bench.state_path("validate")) == !can_lock);
    REQUIRE(::flock(held.get(), LOCK_UN) == 0);
    bench.run(kOneFile);
    REQUIRE(bench.next<RoundEnd>());
    CHECK_FALSE(fs::exists(bench.state_path("validate")));
    CHECK_FALSE(fs::exists(scratch));
  }
}

TEST_CASE("a file in doubt that cannot be written once more fails its state until it can, in every run" *
          doctest::skip(::geteuid() != 0)) {
  CHECK(tests::in_own_mounts([]() -> std::string {
          Bench bench;
          if (::mount("none", bench.path("/dir").c_str(), "tmpfs", 0, "size=1m") != 0) return "no tmpfs";
          const Mounted mounted{bench.path("/dir")};
          const std::string large(700 * 1024, 'x');  // there is no room for a second one
          std::ofstream(bench.path("/dir/a")) << large;
          ::chmod(bench.path("/dir/a").c_str(), 0644);
          const std::string recipe =
              "states: [{ id: a, module: linux.file, parameter: { path: /dir/a, content: " + large + " } }]";
          fs::create_directories(bench.state_path(""));
          {
            const auto loaded = recipe::load_text("test", recipe, tests::engine_registry());
            auto journal = Journal::open(bench.state_path("run.journal"));
            if (!loaded.recipe || !journal) return "cannot begin";
            // As a run leaves it that was killed before its sync.
            if (!(*journal)->begin({.digest = loaded.recipe->digest(),
                                    .root = bench.path(""),
                                    .id = "a",
                                    .changes = {{.what = "content of /dir/a"}},
                                    .written = {"/dir/a"}}))
              return "cannot write the journal";
          }
          for (int run = 1; run <= 3; ++run) {
            const auto results = bench.apply(recipe, true);
            const std::string place = "run " + std::to_string(run) + ": ";
            if (results.size() != 1) return place + std::to_string(results.size()) + " results";
            if (results[0].outcome != Outcome::failed ||
                !has(results[0].comment, "/dir/a is not known to be") ||
                !has(results[0].comment, "No space left"))
              return place + std::string(outcome_name(results[0].outcome)) + " " + results[0].comment;
          }
          if (fs::file_size(bench.state_path("run.journal")) == 0) return "the journal has forgotten it";
          if (::mount("none", bench.path("/dir").c_str(), "tmpfs", MS_REMOUNT, "size=4m") != 0)
            return "remount";
          const auto results = bench.apply(recipe, true);
          if (results.size() != 1 || results[0].outcome != Outcome::kept)
            return "with room: " + results[0].comment;
          return fs::file_size(bench.state_path("run.journal")) == 0 ? "" : "the journal is not cleared";
        }) == "");
}
