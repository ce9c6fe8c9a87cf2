// What surrounds a launcher: who watches, what it inherits, who reads its log, and what the agent does to it.
#include <fcntl.h>

#include "tests/support/launch_bench.hpp"
#include "update/launcher/agent_watchdog.hpp"

using namespace std::chrono_literals;
using tests::is_gone;
using tests::LaunchBench;
using tests::ServiceManager;
using tests::trial;
using tests::wait_until;
using update::Phase;
using update::Record;

TEST_CASE("the launcher tells the service manager itself when it stops, and nobody else is asked") {
  LaunchBench bench;
  bench.version("1-aa", "trap 'exit 77' TERM; echo $$ > $HERE/pid; while :; do sleep 0.05; done");
  const ServiceManager manager(bench.folder() / "notify");
  bench.launch();
  REQUIRE(wait_until([&] { return bench.agent() > 0; }));
  bench.signal(SIGUSR1);  // means nothing, to anybody
  std::this_thread::sleep_for(100ms);
  CHECK_FALSE(is_gone(bench.agent()));
  CHECK(manager.heard() == "");
  bench.signal(SIGTERM);
  CHECK(bench.wait() == 0);
  CHECK(manager.heard() == "STOPPING=1;");
}

TEST_CASE("a version on trial that hangs: the launcher is ready, and feeds the watchdog until it is over") {
  LaunchBench bench;
  bench.journal(trial(Phase::switched, 1s));
  REQUIRE(bench.layout.switch_to("2-bb"));
  const ServiceManager manager(bench.folder() / "notify", 200ms);
  bench.launch();
  REQUIRE(wait_until([&] { return bench.starts("1-aa") == 1; }));
  const std::string heard = manager.heard();
  CHECK(heard.starts_with("READY=1;"));
  std::size_t fed = 0;
  for (std::size_t at = heard.find("WATCHDOG=1"); at != std::string::npos;
       at = heard.find("WATCHDOG=1", at + 1))
    ++fed;
  CHECK(fed >= 7);
  CHECK(fed <= 30);
  // The old one is to feed it itself.
  std::this_thread::sleep_for(500ms);
  CHECK(manager.heard() == "");
}

TEST_CASE("without a service manager an agent that was well and falls silent is killed and started again") {
  LaunchBench bench;
  // It says that it lives, goes on doing so through a child of its own, which does not count, and does
  // nothing more.
  bench.folder().write(
      "agent.py",
      "import os, socket, time\n"
      "name = os.environ['NOTIFY_SOCKET'].replace('@', '\\0', 1)\n"
      "say = lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'WATCHDOG=1', name)\n"
      "assert os.environ['WATCHDOG_USEC'] == '1000000'\n"
      "say()\n"
      "agent = os.getpid()\n"
      "if os.fork() == 0:\n"
      "  while os.getppid() == agent: say(); time.sleep(0.1)\n"
      "  os._exit(0)\n"
      "time.sleep(1000)\n");
  bench.version("1-aa", "exec python3 $HERE/agent.py");
  bench.launch("1");
  CHECK(wait_until([&] { return bench.starts("1-aa") == 2; }));
  CHECK(bench.said().find("does not answer any more") != std::string::npos);
  bench.signal(SIGTERM);
  CHECK(bench.wait() == 0);
}

TEST_CASE("an agent that never says that it lives is not judged by that") {
  LaunchBench bench;
  bench.launch("1");
  REQUIRE(wait_until([&] { return bench.starts("1-aa") == 1; }));
  std::this_thread::sleep_for(1s + update::launcher::AgentWatchdog::kGrace + 1s);
  CHECK(bench.starts("1-aa") == 1);
}

TEST_CASE("whatever a version on trial does to the journal, it is rolled back when it ends again and again") {
  std::string harm;
  SUBCASE("it is gone") {
    harm = "rm $HERE/state/update/journal";
  }
  SUBCASE("it is of a later kind") {
    harm = "sed -i '1s/1/2/' $HERE/state/update/journal";
  }
  LaunchBench bench;
  bench.version("2-bb", harm + "; exit 3");
  bench.journal(trial(Phase::switched));
  REQUIRE(bench.layout.switch_to("2-bb"));
  bench.launch();
  REQUIRE(wait_until([&] { return bench.starts("1-aa") == 1; }));
  CHECK(*bench.layout.current() == "1-aa");
  CHECK(bench.journal().phase == Phase::rolled_back);
  CHECK(bench.starts("2-bb") == 3);
}

TEST_CASE("a version on trial that removes the journal and hangs is ended at the deadline") {
  LaunchBench bench;
  bench.version("2-bb", "rm $HERE/state/update/journal; exec sleep 1000");
  bench.journal(trial(Phase::switched, 1s));
  REQUIRE(bench.layout.switch_to("2-bb"));
  bench.launch();
  REQUIRE(wait_until([&] { return bench.starts("1-aa") == 1; }));
  CHECK(bench.journal().phase == Phase::rolled_back);
}

TEST_CASE("a launcher whose starter ignores its children sees its agent's end") {
  LaunchBench bench;
  bench.version("1-aa", "exit 1");
  bench.launch("60", [] { ::signal(SIGCHLD, SIG_IGN); });
  CHECK(wait_until([&] { return bench.starts("1-aa") >= 2; }));
}

TEST_CASE("a log that nobody reads neither ends nor stops the launcher") {
  LaunchBench bench;
  bench.version("1-aa", "exit 1");
  int ends[2] = {-1, -1};
  REQUIRE(::pipe(ends) == 0);
  base::UniqueFd reader(ends[0]);
  base::UniqueFd writer(ends[1]);
  SUBCASE("the reader is gone") {
    bench.launch("60", [&] {
      ::dup2(ends[1], STDERR_FILENO);
      ::close(ends[1]);
      ::close(ends[0]);
    });
    reader.reset();
  }
  SUBCASE("the pipe is full") {
    ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
    const std::string much(4096, 'x');
    while (::write(ends[1], much.data(), much.size()) > 0) {
    }
    ::fcntl(ends[1], F_SETFL, 0);
    bench.launch("60", [&] { ::dup2(ends[1], STDERR_FILENO); });
  }
  CHECK(wait_until([&] { return bench.starts("1-aa") >= 3; }));
  bench.signal(SIGTERM);
  CHECK(bench.wait() == 0);
}

TEST_CASE("only its owner can speak to the launcher's watchdog, and it goes with the launcher") {
  LaunchBench bench;
  bench.launch();
  REQUIRE(wait_until([&] { return bench.agent() > 0; }));
  const std::string socket = bench.state() + "/launch.sock";
  struct stat st {};
  REQUIRE(::stat(socket.c_str(), &st) == 0);
  CHECK(S_ISSOCK(st.st_mode));
  CHECK((st.st_mode & 0777) == 0600);
  bench.signal(SIGTERM);
  CHECK(bench.wait() == 0);
  CHECK_FALSE(std::filesystem::exists(socket));
}
