// The real launcher with small scripts for agents.
#include "tests/support/launch_bench.hpp"

using namespace std::chrono_literals;
using tests::is_gone;
using tests::LaunchBench;
using tests::trial;
using tests::wait_until;
using update::Phase;
using update::Record;

TEST_CASE("the launcher starts current with its arguments, passes TERM on, and ends with the agent") {
  LaunchBench bench;
  bench.version("1-aa",
                "trap 'echo term >> $HERE/log; exit 0' TERM; trap 'echo hup >> $HERE/log' HUP; "
                "echo $$ > $HERE/pid; while :; do sleep 0.05; done");
  bench.launch();
  REQUIRE(wait_until([&] { return bench.agent() > 0; }));
  CHECK(bench.folder().read("log") == "1-aa run --x 1\n");
  bench.signal(SIGHUP);
  CHECK(wait_until([&] { return bench.starts("hup") == 1; }));
  bench.signal(SIGTERM);
  CHECK(bench.wait() == 0);
  CHECK(bench.starts("term") == 1);
  CHECK(bench.starts("1-aa") == 1);
}

TEST_CASE("an agent that ends is started again after a second, one that asks for it at once") {
  LaunchBench bench;
  bench.version("1-aa", "[ -e $HERE/again ] && exec sleep 1000; touch $HERE/again; exit 77");
  const auto begin = std::chrono::steady_clock::now();
  bench.launch();
  REQUIRE(wait_until([&] { return bench.starts("1-aa") == 2; }));
  CHECK(std::chrono::steady_clock::now() - begin < 1s);
  bench.signal(SIGTERM);
  bench.wait();
}

TEST_CASE("TERM in the pause between two starts ends the launcher") {
  LaunchBench bench;
  bench.version("1-aa", "exit 5");
  bench.launch();
  REQUIRE(wait_until([&] { return bench.said().find("exit status 5") != std::string::npos; }));
  bench.signal(SIGTERM);
  CHECK(bench.wait() == 0);
}

TEST_CASE("a launcher that is killed takes its agent with it") {
  LaunchBench bench;
  bench.launch();
  REQUIRE(wait_until([&] { return bench.agent() > 0; }));
  const pid_t agent = bench.agent();
  bench.signal(SIGKILL);
  bench.wait();
  CHECK(wait_until([&] { return is_gone(agent); }));
}

TEST_CASE("a second launcher on the same state folder refuses") {
  LaunchBench bench;
  bench.launch();
  REQUIRE(wait_until([&] { return bench.agent() > 0; }));
  const std::string command = tests::launcher_path() + " --prefix " + (bench.folder() / "prefix") +
                              " --state-dir " + bench.state() + " 2> /dev/null";
  const auto socket = std::filesystem::path(bench.state()) / "launch.sock";
  struct stat before {};
  REQUIRE(::stat(socket.c_str(), &before) == 0);
  CHECK(WEXITSTATUS(std::system(command.c_str())) == 1);
  CHECK(bench.starts("1-aa") == 1);
  // What the agent of the first speaks to is left alone.
  struct stat after {};
  REQUIRE(::stat(socket.c_str(), &after) == 0);
  CHECK(after.st_ino == before.st_ino);
}

TEST_CASE("a launcher does not believe a state folder that a user leads it to" *
          doctest::skip(::geteuid() != 0)) {
  LaunchBench bench;
  const auto run = [&](const std::string& state) {
    const std::string command = tests::launcher_path() + " --prefix " + (bench.folder() / "prefix") +
                                " --state-dir " + state + " 2> /dev/null";
    return WEXITSTATUS(std::system(command.c_str()));
  };
  bench.folder().folder("home");
  bench.folder().link("home/state", "../state");
  REQUIRE(::chown((bench.folder() / "home").c_str(), 65534, 65534) == 0);
  CHECK(run(bench.folder() / "home/state") == 1);
  CHECK(bench.starts("1-aa") == 0);
  CHECK(bench.folder().count("state") == 0);
}

TEST_CASE(
    "a version that ends at once is started three times, each counted before, then the old one is back") {
  LaunchBench bench;
  bench.version("2-bb", "grep attempts $HERE/state/update/journal >> $HERE/seen; exit 3");
  REQUIRE(bench.layout.switch_to("2-bb"));
  bench.journal(trial(Phase::restarting));
  bench.launch();
  REQUIRE(wait_until([&] { return bench.starts("1-aa") == 1; }));
  CHECK(bench.starts("2-bb") == 3);
  CHECK(bench.folder().read("seen") == "attempts 1\nattempts 2\nattempts 3\n");
  CHECK(*bench.layout.current() == "1-aa");
  const Record record = bench.journal();
  CHECK(record.phase == Phase::rolled_back);
  CHECK_FALSE(record.retryable);
  CHECK_FALSE(record.is_reported);
  CHECK(record.reason == "it ended 3 times before it was healthy; the last time: exit status 3");
}

TEST_CASE("a version that is never healthy is ended at the deadline and rolled back") {
  LaunchBench bench;
  bench.journal(trial(Phase::switched, 1s));
  REQUIRE(bench.layout.switch_to("2-bb"));
  bench.launch();
  REQUIRE(wait_until([&] { return bench.starts("1-aa") == 1; }));
  CHECK(bench.starts("2-bb") == 1);
  CHECK(*bench.layout.current() == "1-aa");
  CHECK(bench.journal().reason == "it was not healthy within 1 s");
}

TEST_CASE("a version that confirms in time stays past the deadline") {
  LaunchBench bench;
  bench.version("2-bb",
                "sed -i 's/^phase .*/phase confirmed/' $HERE/state/update/journal; echo $$ > "
                "$HERE/pid; exec sleep 1000");
  bench.journal(trial(Phase::switched, 1s));
  REQUIRE(bench.layout.switch_to("2-bb"));
  bench.launch();
  REQUIRE(wait_until([&] { return bench.agent() > 0; }));
  std::this_thread::sleep_for(1500ms);
  CHECK_FALSE(is_gone(bench.agent()));
  CHECK(bench.journal().phase == Phase::confirmed);
  CHECK(*bench.layout.current() == "2-bb");
}

TEST_CASE("interrupted before the switch: closed, and the old one runs") {
  LaunchBench bench;
  bench.journal(trial(Phase::armed));
  bench.launch();
  REQUIRE(wait_until([&] { return bench.agent() > 0; }));
  CHECK(bench.starts("1-aa") == 1);
  CHECK(bench.journal().phase == Phase::failed);
  CHECK(bench.journal().reason == "interrupted before the switch");
}

TEST_CASE("a launcher that is killed during the trial goes on counting where it was") {
  LaunchBench bench;
  REQUIRE(bench.layout.switch_to("2-bb"));
  bench.journal(trial(Phase::switched));
  for (int i = 0; i < 3; ++i) {
    const pid_t before = bench.agent();
    bench.launch();
    REQUIRE(wait_until([&] { return bench.agent() > 0 && bench.agent() != before; }));
    bench.signal(SIGKILL);
    bench.wait();
    CHECK(bench.journal().attempts == static_cast<std::uint32_t>(i + 1));
    REQUIRE(wait_until([&] { return is_gone(bench.agent()); }));
  }
  bench.launch();
  REQUIRE(wait_until([&] { return bench.starts("1-aa") == 1; }));
  CHECK(bench.starts("2-bb") == 3);
  CHECK(bench.journal().phase == Phase::rolled_back);
}

TEST_CASE("a damaged journal and a current that leads nowhere: an agent runs all the same") {
  LaunchBench bench;
  bench.folder().write("state/update/journal", "rubbish");
  std::filesystem::remove(bench.folder() / "prefix/current");
  bench.folder().link("prefix/current", "versions/gone");
  bench.launch();
  REQUIRE(wait_until([&] { return bench.agent() > 0; }));
  CHECK(bench.layout.current());
  CHECK(bench.said().find("damaged") != std::string::npos);
  CHECK(bench.said().find("falling back to") != std::string::npos);
}

TEST_CASE("an attempt that cannot be counted on disk is not made: the version before is started") {
  LaunchBench bench;
  REQUIRE(bench.layout.switch_to("2-bb"));
  bench.journal(trial(Phase::restarting));
  // Root writes wherever it likes, but not over a folder.
  bench.folder().folder("state/update/journal.new/x");
  bench.launch();
  REQUIRE(wait_until([&] { return bench.agent() > 0; }));
  CHECK(bench.starts("1-aa") == 1);
  CHECK(bench.starts("2-bb") == 0);
  CHECK(bench.journal() == trial(Phase::restarting));
  CHECK(bench.said().find("cannot be counted") != std::string::npos);

  SUBCASE("and made when it can") {
    std::filesystem::remove_all(bench.folder() / "state/update/journal.new");
    ::kill(bench.agent(), SIGKILL);
    CHECK(wait_until([&] { return bench.starts("2-bb") == 1; }));
    CHECK(bench.journal().attempts == 1);
  }
}

TEST_CASE("without the version before, a trial that cannot be counted on disk is counted in memory") {
  LaunchBench bench;
  bench.version("2-bb", "echo $$ > $HERE/pid; exit 3");
  REQUIRE(bench.layout.switch_to("2-bb"));
  std::filesystem::remove_all(bench.folder() / "prefix/versions/1-aa");
  bench.journal(trial(Phase::restarting));
  bench.folder().folder("state/update/journal.new/x");
  bench.launch();
  CHECK(wait_until([&] { return bench.starts("2-bb") >= 3; }));
  CHECK(
      wait_until([&] { return bench.said().find("the version before is not there") != std::string::npos; }));
}

TEST_CASE("a journal that becomes unreadable during the trial does not end its deadline") {
  LaunchBench bench;
  bench.version("2-bb", "echo rubbish > $HERE/state/update/journal; exec sleep 1000");
  bench.journal(trial(Phase::switched, 1s));
  REQUIRE(bench.layout.switch_to("2-bb"));
  bench.launch();
  REQUIRE(wait_until([&] { return bench.starts("1-aa") == 1; }));
  CHECK(*bench.layout.current() == "1-aa");
  CHECK(bench.journal().phase == Phase::rolled_back);
  CHECK(bench.starts("2-bb") == 1);
}

TEST_CASE("a failed switch whose rename was made is undone by the launcher") {
  LaunchBench bench;
  REQUIRE(bench.layout.switch_to("2-bb"));
  bench.journal(trial(Phase::failed));
  bench.launch();
  REQUIRE(wait_until([&] { return bench.agent() > 0; }));
  CHECK(bench.starts("1-aa") == 1);
  CHECK(bench.starts("2-bb") == 0);
  CHECK(*bench.layout.current() == "1-aa");
}

TEST_CASE("with nothing to start the launcher waits, says so, and goes on when there is something") {
  LaunchBench bench;
  const std::string versions = bench.folder() / "prefix/versions";
  std::filesystem::rename(versions, versions + ".away");
  bench.launch();
  REQUIRE(wait_until([&] { return bench.said().find("install the agent anew") != std::string::npos; }));
  std::filesystem::rename(versions + ".away", versions);
  CHECK(wait_until([&] { return bench.agent() > 0; }));
}
