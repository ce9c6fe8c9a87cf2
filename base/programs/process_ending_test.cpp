// How run() ends what it started: deadline, cancellation, our own death; and what it leaves alone.
//
// Compiled alone: its names are those of other tests.
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "base/programs/process.hpp"
#include "base/unique_fd.hpp"
#include "tests/support/scratch_folder.hpp"

namespace base {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Finds every process of one test by a variable in its environment, wherever in the tree it is or was. Kills
// what is left, so that a failing test leaves nothing running.
class Family {
 public:
  Family() {
    static std::atomic<int> number = 0;
    mark_ = "PROCESS_TEST_FAMILY=" + std::to_string(::getpid()) + "." + std::to_string(++number);
  }
  ~Family() {
    for (const pid_t pid : living()) {
      ::kill(pid, SIGKILL);
    }
  }

  Command shell(const std::string& script) const {
    Command command{.argv = {"sh", "-c", script}, .env = clean_environment()};
    command.env.push_back(mark_);
    return command;
  }

  std::vector<pid_t> living() const {
    std::vector<pid_t> pids;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::ifstream file(entry.path() / "environ");  // empty for zombies
      const std::string environment(std::istreambuf_iterator<char>(file), {});
      if (environment.find(mark_ + '\0') != std::string::npos) pids.push_back(std::stoi(name));
    }
    return pids;
  }

  bool wait_for_size(std::size_t size, std::chrono::milliseconds patience = 20s) const {
    const auto deadline = Clock::now() + patience;
    while (living().size() != size) {
      if (Clock::now() > deadline) return false;
      std::this_thread::sleep_for(10ms);
    }
    return true;
  }

 private:
  std::string mark_;
};

class SwitchInterrupt final : public Interrupt {
 public:
  bool requested() override { return requested_; }
  int wait_fd() const override { return event_.get(); }
  void request() {
    requested_ = true;
    ::eventfd_write(event_.get(), 1);
  }

 private:
  std::atomic<bool> requested_ = false;
  UniqueFd event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

struct Timed {
  Completed completed;
  Clock::duration took;
};

// How many processes are in a session.
std::size_t in_session(pid_t session) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") == std::string::npos && ::getsid(std::stoi(name)) == session)
      ++count;
  }
  return count;
}

Timed must_run(const Command& command) {
  const auto start = Clock::now();
  auto completed = run(command);
  REQUIRE_MESSAGE(completed, (completed ? "" : completed.error().message()));
  return {*completed, Clock::now() - start};
}

// A daemon in the making: forked twice, in a session of its own, deaf to TERM.
const std::string kStubbornGrandchild =
    "(trap '' TERM; setsid sh -c 'trap \"\" TERM; echo ready; while :; do sleep 1000; done' &); ";

}  // namespace

TEST_CASE("a program past its deadline is told to end and may clean up") {
  const Family family;
  Command command = family.shell("trap 'echo bye; exit 0' TERM; echo hello; while :; do sleep 0.05; done");
  command.timeout = 500ms;
  command.term_grace = 20s;
  const Timed run = must_run(command);
  CHECK(run.completed.ending == Ending::timed_out);
  CHECK_FALSE(run.completed.ok());
  CHECK(run.completed.output.starts_with("hello\n"));
  CHECK(run.completed.output.find("bye\n") !=
        std::string::npos);  // the shell may have a word on its sleep, too
  CHECK(run.took >= 500ms);
  CHECK(run.took < 10s);  // long before the end of the grace
  CHECK(family.living().empty());
}

TEST_CASE("a program that ignores TERM is killed after the grace") {
  const Family family;
  Command command = family.shell("trap '' TERM; echo deaf; while :; do sleep 1000; done");
  command.timeout = 300ms;
  command.term_grace = 500ms;
  const Timed run = must_run(command);
  CHECK(run.completed.ending == Ending::timed_out);
  CHECK(run.completed.output == "deaf\n");
  CHECK(run.took >= 800ms);
  CHECK(run.took < 10s);
  CHECK(family.living().empty());
}

TEST_CASE("a stopped program hears TERM too") {
  const Family family;
  Command command = family.shell("trap 'echo bye; exit' TERM; kill -STOP $$; sleep 1000");
  command.timeout = 300ms;
  command.term_grace = 20s;
  const Timed run = must_run(command);
  CHECK(run.completed.output == "bye\n");
  CHECK(run.took < 10s);
}

TEST_CASE("a grandchild in its own session dies with the program at the deadline") {
  const Family family;
  Command command = family.shell(kStubbornGrandchild + "sleep 1000");
  command.timeout = 1s;
  command.term_grace = 200ms;
  const Timed run = must_run(command);
  CHECK(run.completed.ending == Ending::timed_out);
  CHECK(run.completed.output == "ready\n");
  CHECK(family.living().empty());
}

TEST_CASE("cancelling ends the program and its grandchildren") {
  const Family family;
  SwitchInterrupt interrupt;
  Command command = family.shell(kStubbornGrandchild + "sleep 1000");
  command.term_grace = 200ms;
  command.interrupt = &interrupt;
  std::thread canceller([&] {
    CHECK(family.wait_for_size(4));  // two sleeps and their shells
    interrupt.request();
  });
  const Timed run = must_run(command);
  canceller.join();
  CHECK(run.completed.ending == Ending::cancelled);
  CHECK(run.completed.output == "ready\n");
  CHECK(family.living().empty());
}

TEST_CASE("what is cancelled beforehand is not started") {
  SwitchInterrupt interrupt;
  interrupt.request();
  bool started = false;
  Command command{.argv = {"echo", "started"}, .env = clean_environment()};
  command.interrupt = &interrupt;
  command.on_output = [&](Stream, std::string_view) { started = true; };
  CHECK(must_run(command).completed.ending == Ending::cancelled);
  CHECK_FALSE(started);
}

TEST_CASE("a tree that keeps forking is ended") {
  const Family family;
  // Many processes at once, and some that fork and exit without pause, so that no pid is theirs for long.
  Command command = family.shell(
      "trap '' TERM;"
      "grow() { [ $1 -eq 0 ] || { grow $(($1-1)) & grow $(($1-1)) & wait; }; sleep 1000; };"
      "hop() { [ $1 -eq 0 ] || hop $(($1-1)) & };"
      "grow 5 & hop 50000 & hop 50000 & hop 50000 & sleep 1000");
  command.timeout = 1s;
  command.term_grace = 100ms;
  const Timed run = must_run(command);
  CHECK(run.completed.ending == Ending::timed_out);
  CHECK(run.took < 5s);  // KILL gives up after five seconds
  CHECK(family.living().empty());
}

TEST_CASE("a background child that holds stdout does not block, and lives on") {
  const Family family;
  Command command = family.shell("sleep 1000 & echo started");
  command.drain_grace = 300ms;
  const Timed run = must_run(command);
  CHECK(run.completed.ok());
  CHECK(run.completed.output == "started\n");
  CHECK(run.took >= 300ms);
  CHECK(run.took < 10s);
  CHECK(family.wait_for_size(1));  // its environment is unreadable for a moment while it is exec'd
}

TEST_CASE("a background child lives on when it writes to the output that nobody wants any more") {
  const Family family;
  const tests::ScratchFolder scratch;
  const std::string mark = scratch / "went-on";
  Command command = family.shell("{ sleep 1; echo out; echo err >&2; echo $? >" + mark +
                                 "; exec sleep 1000; } & echo started");
  command.drain_grace = 100ms;
  std::vector<pid_t> left;
  command.on_left_behind = [&](const std::vector<pid_t>& pids) { left = pids; };
  const Timed run = must_run(command);
  CHECK(run.completed.ok());
  CHECK(run.completed.output == "started\n");
  CHECK(run.completed.left_behind >= 1);
  CHECK(left.size() == run.completed.left_behind + 1);  // and whoever reads what they print
  for (int i = 0; i < 1000 && !std::filesystem::exists(mark); ++i)
    ::usleep(10'000);
  CHECK(std::filesystem::exists(mark));
  CHECK(family.wait_for_size(1));
  REQUIRE(left.size() > 1);
  CHECK(in_session(left.back()) == 1);  // the reader
  for (const pid_t pid : family.living())
    ::kill(pid, SIGKILL);
  for (int i = 0; i < 1000 && in_session(left.back()) > 0; ++i)
    ::usleep(10'000);
  CHECK(in_session(left.back()) == 0);
}

TEST_CASE("a program that leaves nothing behind says so") {
  const Family family;
  Command command = family.shell("sleep 0.1 & wait; true");
  command.on_left_behind = [](const std::vector<pid_t>&) { FAIL("nothing was left"); };
  CHECK(must_run(command).completed.left_behind == 0);
}

TEST_CASE("a background child that writes without end does not block") {
  const Family family;
  Command command = family.shell("yes & echo started");
  command.drain_grace = 300ms;
  const Timed run = must_run(command);
  CHECK(run.completed.ok());
  CHECK(run.took < 10s);
}

TEST_CASE("a daemon that closed its output costs no grace") {
  const Family family;
  Command command = family.shell("setsid sleep 1000 >/dev/null 2>&1 & exit 7");
  command.drain_grace = 20s;
  const Timed run = must_run(command);
  CHECK(run.completed.exit_code == 7);
  CHECK(run.took < 10s);
  CHECK(family.wait_for_size(1));  // its environment is unreadable for a moment while it is exec'd
}

TEST_CASE("kill -9 of this process ends the tree") {
  const Family family;
  Command command = family.shell(kStubbornGrandchild + "sleep 1000");
  command.term_grace = 200ms;
  const pid_t runner = ::fork();
  REQUIRE(runner >= 0);
  if (runner == 0) {
    const bool ran = static_cast<bool>(run(command));
    ::_exit(ran ? 0 : 1);
  }
  CHECK(family.wait_for_size(4));
  ::kill(runner, SIGKILL);
  REQUIRE(::waitpid(runner, nullptr, 0) == runner);
  CHECK(family.wait_for_size(0));
}

TEST_CASE("the program does not outlive a killed supervisor") {
  const Family family;
  const Timed run = must_run(family.shell("kill -KILL $PPID; exec sleep 1000"));
  CHECK(run.completed.ending == Ending::signalled);
  CHECK(run.completed.signal == SIGKILL);
  CHECK(family.living().empty());
}

TEST_CASE("TERM to the supervisor, as a service manager sends to all, does not end it") {
  const Family family;
  const Timed run = must_run(family.shell("kill -TERM $PPID; kill -HUP $PPID; sleep 0.2; echo on"));
  CHECK(run.completed.ok());
  CHECK(run.completed.output == "on\n");
}

}  // namespace base
