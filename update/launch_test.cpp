// The real launcher with small scripts for agents.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include <doctest/doctest.h>

#include "base/unique_fd.hpp"
#include "tests/support/scratch_folder.hpp"
#include "update/journal.hpp"
#include "update/layout.hpp"
#include "update/pulse.hpp"

using namespace std::chrono_literals;
using tests::ScratchFolder;
using update::Phase;
using update::Record;

namespace {

std::string launcher_path() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "opsagent-launch").string();
}

bool wait_until(const std::function<bool()>& condition, std::chrono::milliseconds most = 20s) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

// PREFIX with versions 1-aa and 2-bb, whose programs append a line to `log` when they start.
class Bench {
 public:
  Bench() {
    folder_.folder("state");
    version("1-aa", "echo $$ > $HERE/pid; exec sleep 1000");
    version("2-bb", "echo $$ > $HERE/pid; exec sleep 1000");
    REQUIRE(layout.switch_to("1-aa"));
  }
  ~Bench() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }

  void version(const std::string& name, const std::string& script) {
    const std::string path = "prefix/versions/" + name + "/bin/opsagent";
    folder_.write(path, "#!/bin/sh\nHERE=" + folder_.path() + "\nexport HERE\necho " + name +
                            " \"$@\" $OPSAGENT_LAUNCHED >> $HERE/log\n" + script + "\n");
    ::chmod((folder_ / path).c_str(), 0755);
  }
  void journal(const Record& record) { REQUIRE(update::write_journal(state(), record)); }
  Record journal() { return **update::read_journal(state()); }
  void launch(const char* watchdog = "60") {
    const std::string program = launcher_path();
    const std::string error = folder_ / "err";
    pid_ = ::fork();
    if (pid_ == 0) {
      ::freopen(error.c_str(), "a", stderr);
      ::execl(program.c_str(), "launch", "--prefix", (folder_ / "prefix").c_str(), "--state-dir",
              state().c_str(), "--watchdog", watchdog, "--", "--x", nullptr);
      ::_exit(99);
    }
  }
  void signal(int number) const { ::kill(pid_, number); }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }
  std::size_t starts(const std::string& name) const {
    const std::string log = folder_.read("log");
    std::size_t count = 0;
    for (std::size_t at = log.find(name); at != std::string::npos; at = log.find(name, at + 1))
      ++count;
    return count;
  }
  pid_t agent() const {
    const std::string text = folder_.read("pid");
    return text.empty() ? 0 : std::stoi(text);
  }
  std::string said() const { return folder_.read("err"); }
  std::string state() const { return folder_ / "state"; }
  const ScratchFolder& folder() const { return folder_; }

 private:
  ScratchFolder folder_;
  pid_t pid_ = -1;

 public:
  const update::Layout layout{folder_ / "prefix"};
};

// Listens where the launcher reports, for as long as it lives.
class ServiceManager {
 public:
  explicit ServiceManager(const std::string& path, std::chrono::microseconds watchdog = {})
      : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof address.sun_path);
    path.copy(address.sun_path, path.size());
    REQUIRE(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    if (watchdog.count() > 0) ::setenv("WATCHDOG_USEC", std::to_string(watchdog.count()).c_str(), 1);
  }
  ~ServiceManager() {
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("WATCHDOG_USEC");
  }
  // What came since the last time, each with a ';' behind it.
  std::string heard() const {
    std::string all;
    std::array<char, 256> text{};
    for (ssize_t size = 0; (size = ::recv(fd_.get(), text.data(), text.size(), 0)) > 0;)
      all += std::string(text.data(), static_cast<std::size_t>(size)) + ";";
    return all;
  }

 private:
  base::UniqueFd fd_;
};

Record trial(Phase phase, std::chrono::seconds deadline = 180s) {
  return {.phase = phase, .version = "2", .from = "1-aa", .to = "2-bb", .deadline = deadline};
}

bool is_gone(pid_t pid) {
  return ::kill(pid, 0) != 0;
}

}  // namespace

TEST_CASE("the launcher starts current with its arguments, passes TERM on, and ends with the agent") {
  Bench bench;
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
  Bench bench;
  bench.version("1-aa", "[ -e $HERE/again ] && exec sleep 1000; touch $HERE/again; exit 77");
  const auto begin = std::chrono::steady_clock::now();
  bench.launch();
  REQUIRE(wait_until([&] { return bench.starts("1-aa") == 2; }));
  CHECK(std::chrono::steady_clock::now() - begin < 1s);
  bench.signal(SIGTERM);
  bench.wait();
}

TEST_CASE("TERM in the pause between two starts ends the launcher") {
  Bench bench;
  bench.version("1-aa", "exit 5");
  bench.launch();
  REQUIRE(wait_until([&] { return bench.said().find("exit status 5") != std::string::npos; }));
  bench.signal(SIGTERM);
  CHECK(bench.wait() == 0);
}

TEST_CASE("a launcher that is killed takes its agent with it") {
  Bench bench;
  bench.launch();
  REQUIRE(wait_until([&] { return bench.agent() > 0; }));
  const pid_t agent = bench.agent();
  bench.signal(SIGKILL);
  bench.wait();
  CHECK(wait_until([&] { return is_gone(agent); }));
}

TEST_CASE("a second launcher on the same state folder refuses") {
  Bench bench;
  bench.launch();
  REQUIRE(wait_until([&] { return bench.agent() > 0; }));
  const std::string command = launcher_path() + " --prefix " + (bench.folder() / "prefix") + " --state-dir " +
                              bench.state() + " 2> /dev/null";
  CHECK(WEXITSTATUS(std::system(command.c_str())) == 1);
  CHECK(bench.starts("1-aa") == 1);
}

TEST_CASE(
    "a version that ends at once is started three times, each counted before, then the old one is back") {
  Bench bench;
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
  Bench bench;
  bench.journal(trial(Phase::switched, 1s));
  REQUIRE(bench.layout.switch_to("2-bb"));
  bench.launch();
  REQUIRE(wait_until([&] { return bench.starts("1-aa") == 1; }));
  CHECK(bench.starts("2-bb") == 1);
  CHECK(*bench.layout.current() == "1-aa");
  CHECK(bench.journal().reason == "it was not healthy within 1 s");
}

TEST_CASE("a version that confirms in time stays past the deadline") {
  Bench bench;
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
  Bench bench;
  bench.journal(trial(Phase::armed));
  bench.launch();
  REQUIRE(wait_until([&] { return bench.agent() > 0; }));
  CHECK(bench.starts("1-aa") == 1);
  CHECK(bench.journal().phase == Phase::failed);
  CHECK(bench.journal().reason == "interrupted before the switch");
}

TEST_CASE("a launcher that is killed during the trial goes on counting where it was") {
  Bench bench;
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
  Bench bench;
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
  Bench bench;
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
  Bench bench;
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
  Bench bench;
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
  Bench bench;
  REQUIRE(bench.layout.switch_to("2-bb"));
  bench.journal(trial(Phase::failed));
  bench.launch();
  REQUIRE(wait_until([&] { return bench.agent() > 0; }));
  CHECK(bench.starts("1-aa") == 1);
  CHECK(bench.starts("2-bb") == 0);
  CHECK(*bench.layout.current() == "1-aa");
}

TEST_CASE("the launcher tells the service manager itself when it stops, and nobody else is asked") {
  Bench bench;
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
  Bench bench;
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
  Bench bench;
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
  Bench bench;
  bench.launch("1");
  REQUIRE(wait_until([&] { return bench.starts("1-aa") == 1; }));
  std::this_thread::sleep_for(1s + update::Pulse::kGrace + 1s);
  CHECK(bench.starts("1-aa") == 1);
}

TEST_CASE("with nothing to start the launcher waits, says so, and goes on when there is something") {
  Bench bench;
  const std::string versions = bench.folder() / "prefix/versions";
  std::filesystem::rename(versions, versions + ".away");
  bench.launch();
  REQUIRE(wait_until([&] { return bench.said().find("install the agent anew") != std::string::npos; }));
  std::filesystem::rename(versions + ".away", versions);
  CHECK(wait_until([&] { return bench.agent() > 0; }));
}
