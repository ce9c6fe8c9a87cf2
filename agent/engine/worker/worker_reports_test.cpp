// What the worker hands to the report spool: everything once, whatever is killed, full or broken.
#include <signal.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <fstream>
#include <map>
#include <random>
#include <thread>

#include <doctest/doctest.h>

#include "agent/engine/records/journal.hpp"
#include "agent/engine/records/recovery.hpp"
#include "agent/reports/spool_sink.hpp"
#include "base/text.hpp"
#include "tests/support/scratch_folder.hpp"
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
constexpr auto kNothing = "states: [{ id: other, module: meta.comment }]";

// "id outcome" of results, "end changed failed" of rounds; nothing else is a report.
std::optional<reports::Spool::Entry> encode(const Event& event) {
  if (const auto* result = std::get_if<StateResult>(&event))
    return reports::Spool::Entry{.importance = result->outcome == Outcome::kept ? reports::Importance::kept
                                                                                : reports::Importance::normal,
                                 .payload = result->id + " " + std::string(outcome_name(result->outcome))};
  if (const auto* end = std::get_if<RoundEnd>(&event))
    return reports::Spool::Entry{.payload = "end " + std::to_string(end->counts[1]) + " " +
                                            std::to_string(end->counts[2])};
  return {};
}

std::shared_ptr<reports::Spool> open_spool(const std::string& folder) {
  auto spool = reports::Spool::open(folder);
  if (!spool) FAIL(spool.error().message());
  return std::shared_ptr<reports::Spool>(std::move(*spool));
}

// A bench whose worker has a spool.
struct SpoolBench : Bench {
  SpoolBench() { reopen(); }
  ~SpoolBench() { stop(); }
  void reopen() {
    stop();
    settings().reports = {};
    spool_ = {};
    spool_ = open_spool(state_path("spool"));
    settings().reports = std::make_shared<reports::SpoolSink>(spool_, encode);
  }
  reports::Spool& spool() { return *spool_; }
  std::vector<std::string> reported() {
    std::vector<std::string> texts;
    for (const reports::SpoolRecord& record : spool().read_after(0, 100'000, 100'000'000))
      texts.push_back(record.payload);
    return texts;
  }
  // As a run leaves it that was killed.
  void leave_begun(const RunRound& where, std::size_t index, const std::string& id, const std::string& text) {
    const auto loaded = recipe::load_text("test.yaml", text, tests::engine_registry());
    REQUIRE(loaded.recipe);
    auto journal = Journal::open(state_path("run.journal"));
    REQUIRE(journal);
    REQUIRE((*journal)->begin({.digest = loaded.recipe->digest(),
                               .root = settings().host.root,
                               .begun_in = where,
                               .index = index,
                               .id = id,
                               .changes = {{.what = "/dir/" + id, .after = "file"}}}));
  }
  bool journal_is_empty() const { return fs::file_size(state_path("run.journal")) == 0; }

 private:
  std::shared_ptr<reports::Spool> spool_;
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("results and round ends go to the spool, in order, whether or not somebody reads the events") {
  SpoolBench bench;
  bench.apply(kTwoFiles);
  CHECK(bench.reported() == Texts{"a changed", "b changed", "end 2 0"});
  CHECK(bench.journal_is_empty());
  bench.stop();
  bench.run(kTwoFiles);
  for (int i = 0; i < 5000 && bench.spool().last_seq() < 6; ++i)
    std::this_thread::sleep_for(1ms);
  bench.stop();
  REQUIRE(bench.spool().last_seq() >= 6);
  CHECK(bench.reported().at(3) == "a kept");
}

TEST_CASE("every run has an id of its own, and its results and round ends carry it") {
  SpoolBench bench;
  bench.run(kTwoFiles);
  const auto started = bench.next<RoundStarted>();
  REQUIRE(started);
  CHECK(started->run_id.size() >= 12);
  CHECK(bench.next<StateResult>()->run_id == started->run_id);
  CHECK(bench.next<RoundEnd>()->run_id == started->run_id);
  bench.run(kNothing, 2);
  auto second = bench.next<RoundStarted>();
  while (second && second->version != 2)
    second = bench.next<RoundStarted>();
  REQUIRE(second);
  CHECK(second->run_id != started->run_id);
}

TEST_CASE("what was spooled before a kill, and not confirmed in the journal, is not reported again") {
  SpoolBench bench;
  bench.apply(kTwoFiles);
  bench.spool().acknowledge(2);  // the backend has it already
  bench.leave_begun({"gone", 3}, 0, "a", kTwoFiles);
  bench.leave_begun({"gone", 3}, 1, "b", kTwoFiles);
  REQUIRE(bench.spool().append(
      std::vector<reports::Spool::Entry>{{.key = report_key({"gone", 3}, 0), .payload = "a changed"}}));
  bench.spool().acknowledge(bench.spool().last_seq());
  bench.reopen();
  bench.apply(kTwoFiles, true);
  CHECK(bench.reported() == Texts{"b changed", "end 1 0"});
  CHECK(bench.journal_is_empty());
}

TEST_CASE("what a killed run had changed is reported also when another recipe comes first") {
  SpoolBench bench;
  bench.leave_begun({"gone", 1}, 0, "a", kTwoFiles);
  bench.leave_begun({"gone", 1}, 1, "b", kTwoFiles);
  const auto results = bench.apply(kNothing, true);
  REQUIRE(results.size() == 3);
  CHECK(results[0].run_id == "gone");
  CHECK(results[0].changes.at(0).what == "/dir/a");
  CHECK(results[0].resumed);
  // Nobody knows whether the last one was finished.
  CHECK(bench.reported() == Texts{"a changed", "b cancelled", "other kept", "end 0 0"});
  CHECK(bench.journal_is_empty());
}

TEST_CASE("without a spool whoever applies another recipe is told what a killed run had begun") {
  Bench bench;
  {
    SpoolBench other;  // only for its journal
    other.leave_begun({"gone", 1}, 0, "a", kTwoFiles);
    fs::create_directories(bench.state_path(""));
    fs::copy(other.state_path("run.journal"), bench.state_path("run.journal"));
  }
  bench.run(kNothing);
  const auto notice = bench.next<Notice>();
  REQUIRE(notice);
  CHECK(notice->text.find("/dir/a") != std::string::npos);
  CHECK(bench.next<StateResult>()->id == "other");
}

TEST_CASE("a state that is begun is finished and reported though its condition does not hold any more") {
  const std::string text =
      "states: [{ id: a, module: linux.file, when: { path_absent: /dir/a }, parameter: { path: /dir/a, "
      "content: A } }]";
  SpoolBench bench;
  bench.leave_begun({"gone", 1}, 0, "a", text);
  std::ofstream(bench.path("/dir/a")) << "A";
  ::chmod(bench.path("/dir/a").c_str(), 0644);
  bench.apply(text, true);
  CHECK(bench.reported() == Texts{"a changed", "end 1 0"});
}

TEST_CASE("a spool on a full disk holds reports back, not the worker, and loses none") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: needs root to mount a small file system");
    return;
  }
  const tests::ScratchFolder scratch;
  CHECK(tests::in_own_mounts([&]() -> std::string {
          if (::mount("tmpfs", scratch.path().c_str(), "tmpfs", 0, "size=128k") != 0) return "no tmpfs";
          Bench bench;
          const std::shared_ptr<reports::Spool> opened = open_spool(scratch / "spool");
          reports::Spool& spool = *opened;
          bench.settings().reports = std::make_shared<reports::SpoolSink>(opened, encode);
          for (std::string block(4096, 'x'); !block.empty();) {  // fills the disk to the last byte
            std::ofstream file(scratch / "ballast", std::ios::app);
            if (!(file << block << std::flush)) block.resize(block.size() / 2);
          }
          std::vector<reports::Spool::Entry> filling{{.payload = "x"}};
          while (spool.append(filling))
            ;
          const std::uint64_t before = spool.last_seq();
          bench.run(kTwoFiles);
          const auto notice = bench.next<Notice>();
          if (!notice) return "no notice";
          // Rounds go on: drift is repaired though nobody can be told yet.
          const auto deadline = std::chrono::steady_clock::now() + 5s;
          while (!fs::exists(bench.path("/dir/b")) && std::chrono::steady_clock::now() < deadline)
            std::this_thread::sleep_for(1ms);
          std::this_thread::sleep_for(100ms);
          fs::remove(bench.path("/dir/a"));
          while (!fs::exists(bench.path("/dir/a")) && std::chrono::steady_clock::now() < deadline)
            std::this_thread::sleep_for(1ms);
          if (std::chrono::steady_clock::now() >= deadline) return "the worker waits for the spool";
          if (spool.last_seq() != before) return "the disk was not full";
          fs::remove(scratch / "ballast");
          while (spool.last_seq() < before + 6 && std::chrono::steady_clock::now() < deadline + 5s)
            std::this_thread::sleep_for(1ms);
          bench.stop();
          std::map<std::string, int> seen;
          for (const reports::SpoolRecord& record : spool.read_after(before, 100'000, 100'000'000))
            ++seen[record.payload];
          if (seen["a changed"] != 2 || seen["b changed"] != 1)
            return "a " + std::to_string(seen["a changed"]) + ", b " + std::to_string(seen["b changed"]);
          return "";
        }) == "");
}

TEST_CASE("a change that cannot be synced fails, and the round with it: results and round end agree") {
  Bench bench;
  fs::create_directories(bench.state_path(""));
  // A journal that can be written and not synced.
  if (::mknod(bench.state_path("run.journal").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0 ||
      !Journal::open(bench.state_path("run.journal"))) {
    MESSAGE("skipped: needs root to make a device");
    return;
  }
  bench.settings().round_delay = 1h;
  bench.run(kTwoFiles);
  std::size_t failed = 0;
  for (bool over = false; !over;) {
    const auto event = bench.next_event();
    REQUIRE(event);
    if (const auto* result = std::get_if<StateResult>(&*event)) {
      CHECK(result->outcome == Outcome::failed);
      CHECK(result->comment.find("could not be synced to disk") != std::string::npos);
      ++failed;
    } else if (const auto* end = std::get_if<RoundEnd>(&*event)) {
      CHECK(end->counts[static_cast<std::size_t>(Outcome::changed)] == 0);
      CHECK(end->counts[static_cast<std::size_t>(Outcome::failed)] == failed);
      CHECK(end->next == bench.settings().first_back_off);
      over = true;
    }
  }
  CHECK(failed > 0);
  // What was written is there, so the next round, which comes soon, has nothing to sync.
  CHECK(bench.next<StateResult>()->outcome == Outcome::kept);
}

namespace {

// Kills workers in the middle of a recipe, and counts what their spool has in the end.
class Kills {
 public:
  // One run of the recipe in a process of its own, killed after a while; true: it had come to its end.
  bool run(const std::string& text, std::chrono::microseconds lifetime) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work(text));
    const auto end = std::chrono::steady_clock::now() + lifetime;
    while (std::chrono::steady_clock::now() < end && !has_ended(child))
      std::this_thread::sleep_for(200us);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE((WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
    interrupted_ +=
        fs::exists(bench_.state_path("run.journal")) && fs::file_size(bench_.state_path("run.journal")) > 0;
    collect();
    return WIFEXITED(status);
  }

  int reports(const std::string& text) const {
    const auto found = seen_.find(text);
    return found == seen_.end() ? 0 : found->second;
  }
  int interrupted() const { return interrupted_; }

 private:
  // Its pid stays its own until it is waited for.
  static bool has_ended(pid_t child) {
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
    return info.si_pid == child;
  }

  int work(const std::string& text) {
    auto spool = reports::Spool::open(bench_.state_path("spool"), {.segment_bytes = 4096});
    if (!spool) return 1;
    bench_.settings().reports = std::make_shared<reports::SpoolSink>(std::move(*spool), encode);
    Worker worker(bench_.settings(), std::make_shared<base::Redactor>());
    const auto loaded = recipe::load_text("test", text, tests::engine_registry());
    worker.commands().push(RunRecipe{.recipe = loaded.recipe});
    worker.commands().push(Stop{Stop::When::end});
    while (auto event = worker.events().pop())
      if (std::holds_alternative<Stopped>(*event)) return 0;
    return 2;
  }

  // As the backend does: takes what is there and says so.
  void collect() {
    auto spool = reports::Spool::open(bench_.state_path("spool"));
    REQUIRE(spool);
    for (const reports::SpoolRecord& record : (*spool)->read_after(0, 100'000, 100'000'000)) {
      CHECK(record.seq > last_seq_);
      last_seq_ = record.seq;
      ++seen_[record.payload];
    }
    (*spool)->acknowledge(last_seq_);
  }

  Bench bench_;
  std::map<std::string, int> seen_;
  std::uint64_t last_seq_ = 0;
  int interrupted_ = 0;
};

constexpr int kStates = 60;

std::string generation(int number) {
  std::string text = "states:\n";
  for (int i = 0; i < kStates; ++i)
    text += "  - { id: s" + std::to_string(number) + "-" + std::to_string(i) +
            ", module: linux.file, parameter: { path: /dir/" +
            std::to_string(i % 6 > 0 ? number * 1000 + i : i) + ", content: '" + std::to_string(number) +
            "' } }\n";
  return text;
}

}  // namespace

TEST_CASE("whenever the worker is killed, every change is in the spool exactly once in the end") {
  std::mt19937 random(std::random_device{}());
  Kills kills;
  std::chrono::microseconds lifetime = 150ms;
  int killed = 0;
  for (int number = 0; killed < 50; ++number) {
    const std::string text = generation(number);
    bool replaced = false;
    for (bool over = false; !over;) {
      // Killed again and again, and in the end left alone.
      const bool leave_alone = random() % 4 == 0;
      const auto before = std::chrono::steady_clock::now();
      over = kills.run(text, leave_alone ? 20s : lifetime * static_cast<int>(random() % 1000) / 1000);
      killed += !over;
      if (over && leave_alone)
        lifetime =
            std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - before);
      if (!over && random() % 5 == 0) {
        replaced = true;
        REQUIRE(kills.run(kNothing, 20s));
      }
    }
    int interrupted = 0;
    for (int i = 0; i < kStates; ++i) {
      const std::string id = "s" + std::to_string(number) + "-" + std::to_string(i);
      const int changed = kills.reports(id + " changed");
      const int cut_off = kills.reports(id + " cancelled");
      interrupted += cut_off;
      CHECK_MESSAGE((changed == 1 || (changed == 0 && cut_off > 0)),
                    id << " was reported " << changed << " times");
    }
    CHECK((replaced || interrupted == 0));
  }
  MESSAGE(killed << " kills, " << kills.interrupted() << " with changes begun and not confirmed");
  CHECK(kills.interrupted() > 5);
}
