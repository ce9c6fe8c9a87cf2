// run() with real programs: what goes in, what comes out, what cannot be started. How trees of processes are
// ended is in process_ending_test.cpp.
#include "base/programs/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "base/unique_fd.hpp"

namespace base {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr uid_t kNobody = 65534;

Command shell(const std::string& script) {
  return {.argv = {"sh", "-c", script}, .env = clean_environment()};
}

Completed must_run(const Command& command) {
  auto completed = run(command);
  REQUIRE_MESSAGE(completed, (completed ? "" : completed.error().message()));
  return *completed;
}

std::string start_failure(const Command& command) {
  auto completed = run(command);
  REQUIRE_FALSE(completed);
  return completed.error().message();
}

std::uint64_t own_peak_kb() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss);
}

long count_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

class TemporaryFolder {
 public:
  TemporaryFolder() { REQUIRE(::mkdtemp(path_.data()) != nullptr); }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/process_test.XXXXXX";
};

}  // namespace

TEST_CASE("a program's exit code is told") {
  const Completed good = must_run(shell("exit 0"));
  CHECK(good.ok());
  const Completed bad = must_run(shell("exit 42"));
  CHECK(bad.ending == Ending::exited);
  CHECK(bad.exit_code == 42);
  CHECK_FALSE(bad.ok());
}

TEST_CASE("a program that dies of a signal did not exit") {
  const Completed completed = must_run(shell("kill -SEGV $$"));
  CHECK(completed.ending == Ending::signalled);
  CHECK(completed.signal == SIGSEGV);
  CHECK_FALSE(completed.ok());
}

TEST_CASE("stdout and stderr are kept in the order of their arrival and told apart to the listener") {
  std::string heard;
  Command command = shell("echo one; sleep 0.2; echo two >&2; sleep 0.2; echo three");
  command.on_output = [&](Stream stream, std::string_view bytes) {
    heard += stream == Stream::out ? "out:" : "err:";
    heard += bytes;
  };
  CHECK(must_run(command).output == "one\ntwo\nthree\n");
  CHECK(heard == "out:one\nerr:two\nout:three\n");
}

TEST_CASE("output comes while the program still runs") {
  const auto start = Clock::now();
  std::optional<Clock::duration> first;
  Command command = shell("echo early; sleep 1");
  command.on_output = [&](Stream, std::string_view) {
    if (!first) first = Clock::now() - start;
  };
  must_run(command);
  REQUIRE(first);
  CHECK(Clock::now() - start - *first > 700ms);
}

TEST_CASE("what is written right before the end is not lost") {
  Command command = shell("head -c 60000 /dev/zero; head -c 60000 /dev/zero >&2; kill -KILL $$");
  command.keep_head = 1'000'000;
  CHECK(must_run(command).output.size() == 120'000);
}

TEST_CASE("a GiB of output needs no memory and loses neither start nor end") {
  constexpr std::uint64_t kGiB = 1024 * 1024 * 1024;
  must_run(shell("head -c 1M /dev/zero"));  // what is allocated once is allocated now
  const std::uint64_t peak_before = own_peak_kb();
  const auto start = Clock::now();
  std::uint64_t heard = 0;
  Command command = shell("echo start; head -c 1G /dev/zero; echo end");
  command.on_output = [&](Stream, std::string_view bytes) { heard += bytes.size(); };
  const Completed completed = must_run(command);

  CHECK(heard == kGiB + 10);
  CHECK(completed.output.starts_with("start\n"));
  CHECK(completed.output.ends_with("end\n"));
  CHECK(completed.dropped_bytes == kGiB + 10 - 128 * 1024);
  const std::string note = "\n[... " + std::to_string(completed.dropped_bytes) + " bytes dropped ...]\n";
  CHECK(completed.output.find(note) == 64 * 1024);
  CHECK(completed.output.size() == 128 * 1024 + note.size());
  CHECK(own_peak_kb() - peak_before < 4 * 1024);
  CHECK(Clock::now() - start < 60s);  // under a second when nothing else runs
}

TEST_CASE("input reaches the program, then its stdin ends") {
  Command command = shell("cat; echo done");
  command.input = "some\ninput\n";
  CHECK(must_run(command).output == "some\ninput\ndone\n");

  command = shell("sleep 0.2; cksum");
  command.input = std::string(1024 * 1024, 'x');
  std::string expected = must_run(shell("head -c 1M /dev/zero | tr '\\0' x | cksum")).output;
  CHECK(must_run(command).output == expected);
}

TEST_CASE("input and output larger than the pipes go through at once") {
  Command command = {.argv = {"cat"}, .env = clean_environment()};
  command.input = std::string(1024 * 1024, 'y') + "end";
  command.keep_head = 2 * 1024 * 1024;
  CHECK(must_run(command).output == command.input);
}

TEST_CASE("a program that does not read its input is no error and SIGPIPE hits nobody") {
  Command command = shell("exec 0<&-; sleep 0.1; echo fine");
  command.input = std::string(1024 * 1024, 'x');
  const Completed completed = must_run(command);
  CHECK(completed.ok());
  CHECK(completed.output == "fine\n");
}

TEST_CASE("without input stdin is /dev/null") {
  const Completed completed = must_run(shell("readlink /proc/self/fd/0; cat"));
  CHECK(completed.ok());
  CHECK(completed.output == "/dev/null\n");
}

TEST_CASE("the program gets no descriptor of ours but its three") {
  const UniqueFd leaky(::dup(1));  // not close-on-exec
  REQUIRE(leaky);
  CHECK(must_run({.argv = {"ls", "/proc/self/fd"}, .env = clean_environment()}).output ==
        "0\n1\n2\n3\n");  // 3: ls itself
  // The supervisor has its stdio, the two pipes to us, its signalfd, and the ends of the output that it may
  // have to read once we are done.
  const Completed completed = must_run(shell("ls /proc/$PPID/fd | wc -l; cat /proc/$PPID/comm"));
  CHECK(completed.output == "8\nsupervisor\n");
}

TEST_CASE("run() works when our own stdio is closed") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int fd : {0, 1, 2}) {
      ::close(fd);
    }
    Command command = shell("cat; echo err >&2; exit 5");
    command.input = "in\n";
    auto completed = run(command);
    ::_exit(completed && completed->exit_code == 5 && completed->output == "in\nerr\n" ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("the environment is exactly what was given") {
  CHECK(must_run({.argv = {"/usr/bin/env"}, .env = {"A=1", "B=two words"}}).output == "A=1\nB=two words\n");
  CHECK(must_run({.argv = {"/usr/bin/env"}}).output == "");
}

TEST_CASE("the program starts in its directory, with umask 022, leading a session") {
  Command command = shell("pwd; umask; [ $(cut -d' ' -f6 /proc/$$/stat) = $$ ] && echo leads");
  command.cwd = "/usr";
  const mode_t before = ::umask(077);
  const Completed completed = must_run(command);
  ::umask(before);
  CHECK(completed.output == "/usr\n0022\nleads\n");
}

TEST_CASE("the program has default signal handling, whatever ours is") {
  struct sigaction ignore {};
  struct sigaction pipe_before {};
  ignore.sa_handler = SIG_IGN;
  sigset_t blocked;
  sigset_t mask_before;
  sigset_t mask_after;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::sigaction(SIGPIPE, &ignore, &pipe_before);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &mask_before);

  const Completed completed =
      must_run({.argv = {"grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"}, .env = clean_environment()});
  ::pthread_sigmask(SIG_SETMASK, &mask_before, &mask_after);
  ::sigaction(SIGPIPE, &pipe_before, nullptr);

  CHECK(completed.output == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  CHECK(::sigismember(&mask_after, SIGUSR1) == 1);  // ours stays as it was
  CHECK(::sigismember(&mask_after, SIGTERM) == 0);
}

TEST_CASE("a program that is not there") {
  CHECK(start_failure({.argv = {"no-such-program"}}) == "program 'no-such-program' not found");
  CHECK(start_failure({.argv = {"/no/such/program"}}) == "program '/no/such/program' not found");
  CHECK(start_failure({.argv = {"sh"}, .env = {"PATH=/proc"}}) == "program 'sh' not found");
  CHECK(start_failure({}) == "no program given");
  CHECK(run({.argv = {"/no/such/program"}}).error().code() == ErrorCode::not_found);
}

TEST_CASE("a program that cannot be executed") {
  const TemporaryFolder folder;
  const std::string script = folder.path() + "/script";
  std::ofstream(script) << "#!/no/such/interpreter\n";
  CHECK(start_failure({.argv = {script}}) ==
        "program '" + script + "' is not executable for the agent's user");
  ::chmod(script.c_str(), 0755);
  CHECK(start_failure({.argv = {script}}) ==
        "program '" + script + "' needs an interpreter that does not exist");
  CHECK(start_failure({.argv = {"sh", "-c", std::string("a\0b", 3)}}).starts_with("a NUL byte"));
}

TEST_CASE("a working directory that is not there") {
  Command command = shell("pwd");
  command.cwd = "/no/such/folder";
  CHECK(start_failure(command) == "working directory '/no/such/folder' does not exist");
  command.cwd = "/etc/passwd";
  CHECK(start_failure(command) == "working directory '/etc/passwd' is not a directory");
}

TEST_CASE("as another user the program has that user's ids and no privilege" *
          doctest::skip(::geteuid() != 0)) {
  Command command = {.argv = {"cat", "/proc/self/status"}, .env = clean_environment()};
  command.identity = Identity{.uid = kNobody, .gid = 65533, .groups = {4711, 4712}};
  const std::string status = must_run(command).output;
  CHECK(status.find("\nUid:\t65534\t65534\t65534\t65534\n") != std::string::npos);
  CHECK(status.find("\nGid:\t65533\t65533\t65533\t65533\n") != std::string::npos);
  CHECK(status.find("\nGroups:\t4711 4712 \n") != std::string::npos);
  for (const std::string set : {"CapPrm", "CapEff", "CapAmb"}) {
    CHECK_MESSAGE(status.find("\n" + set + ":\t0000000000000000\n") != std::string::npos, set);
  }

  command.identity->groups.clear();
  CHECK(must_run(command).output.find("\nGroups:\t \n") != std::string::npos);
  command.argv = {"cat", "/etc/shadow"};
  CHECK(must_run(command).output.find("Permission denied") != std::string::npos);
}

TEST_CASE("directory and program must be open to the user" * doctest::skip(::geteuid() != 0)) {
  const TemporaryFolder folder;  // mode 0700
  Command command = shell("pwd");
  command.identity = Identity{.uid = kNobody, .gid = kNobody};
  command.cwd = folder.path();
  CHECK(start_failure(command) ==
        "working directory '" + folder.path() + "' is not accessible to user 65534");
  CHECK(run(command).error().code() == ErrorCode::permission);

  const std::string program = folder.path() + "/true";
  std::filesystem::copy_file("/bin/true", program);
  command.cwd = "/";
  command.argv = {program};
  CHECK(start_failure(command) == "program '" + program + "' is not executable for user 65534");
}

TEST_CASE("a program starts in the folder that was opened for it, whatever its name leads to by then") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() + "/right");
  const UniqueFd right(::open((folder.path() + "/right").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::filesystem::rename(folder.path() + "/right", folder.path() + "/moved");
  std::filesystem::create_directory_symlink("/", folder.path() + "/right");
  Command command = shell("pwd -P");
  command.cwd = folder.path() + "/right";
  command.cwd_folder = right.get();
  CHECK(must_run(command).output == folder.path() + "/moved\n");
  if (::geteuid() != 0) return;
  // Another user would find his own way there, and finds another folder.
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  command.identity = Identity{.uid = kNobody, .gid = kNobody};
  CHECK(start_failure(command).find("is another folder for user 65534") != std::string::npos);
  command.cwd = folder.path() + "/moved";
  CHECK(must_run(command).output == folder.path() + "/moved\n");
}

// What a program with a /tmp of its own finds there, and who it is. Empty where nobody may have one.
std::string seen_in_private_tmp(std::optional<Identity> identity) {
  Command command =
      shell("ls -A /tmp; id -u; touch /tmp/opsagent-own-tmp && ls /tmp; grep -c ' /tmp tmpfs' /proc/mounts");
  command.identity = std::move(identity);
  command.private_tmp = true;
  return must_run(command).output;
}

TEST_CASE("a program may have a /tmp of its own, in memory") {
  const bool is_root = ::geteuid() == 0;
  if (!is_root && std::system("unshare --user --mount true 2>/dev/null") != 0) {
    MESSAGE("this kernel gives users no mounts of their own");
    return;
  }
  const TemporaryFolder outside;  // something is in the machine's /tmp
  const auto answer = [](uid_t uid) { return std::to_string(uid) + "\nopsagent-own-tmp\n1\n"; };
  CHECK(seen_in_private_tmp(std::nullopt) == answer(::geteuid()));
  if (is_root) CHECK(seen_in_private_tmp(Identity{.uid = kNobody, .gid = kNobody}) == answer(kNobody));
  CHECK_FALSE(std::filesystem::exists("/tmp/opsagent-own-tmp"));
}

TEST_CASE("cpu time and memory are those of the program and its children") {
  const auto start = Clock::now();
  const Completed busy = must_run(shell("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"));
  CHECK(busy.cpu > 20ms);
  CHECK(busy.cpu <= Clock::now() - start);
  CHECK(must_run(shell("sleep 0.3")).cpu < 200ms);

  const std::uint64_t large =
      must_run(shell("dd if=/dev/zero of=/dev/null bs=300M count=1 2>/dev/null; true")).max_rss_kb;
  CHECK(large >= 300 * 1024);
  CHECK(large < 400 * 1024);
  const std::uint64_t small = must_run(shell("true")).max_rss_kb;
  CHECK(small > 100);
  CHECK(small < own_peak_kb() + 10 * 1024);
}

TEST_CASE("eight threads run programs at once and leave neither descriptors nor zombies") {
  const long descriptors_before = count_descriptors();
  std::vector<int> right(8, 0);
  std::vector<std::thread> threads;
  for (int number = 0; number < 8; ++number) {
    threads.emplace_back([number, &right] {
      for (int round = 0; round < 15; ++round) {
        const std::string word = std::to_string(number * 100 + round);
        Command command = shell("cat; echo " + word + " >&2; exit " + std::to_string(number));
        command.input = word + "\n";
        auto completed = run(command);
        const bool expected =
            completed && completed->exit_code == number && completed->output == word + "\n" + word + "\n";
        if (expected) ++right[static_cast<std::size_t>(number)];
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(right == std::vector<int>(8, 15));
  CHECK(count_descriptors() == descriptors_before);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

TEST_CASE("programs are found in the system's folders") {
  CHECK(find_program("sh").value_or("").ends_with("/sh"));
  CHECK(find_program("/bin/sh") == "/bin/sh");
  CHECK_FALSE(find_program("no-such-program"));
  CHECK_FALSE(find_program(""));
  CHECK_FALSE(find_program("/etc/passwd"));  // not executable
  CHECK_FALSE(find_program("/etc"));         // not a file
  CHECK_FALSE(find_program("bin/sh"));
}

TEST_CASE("the clean environment hands on proxies and nothing secret") {
  ::setenv("https_proxy", "http://proxy:3128", 1);
  ::setenv("OPSAGENT_TOKEN", "secret", 1);
  const std::vector<std::string> environment = clean_environment("/home/someone");
  ::unsetenv("https_proxy");
  ::unsetenv("OPSAGENT_TOKEN");
  const auto has = [&](const std::string& entry) { return std::ranges::count(environment, entry) == 1; };
  CHECK(has("HOME=/home/someone"));
  CHECK(has("LC_ALL=C.UTF-8"));
  CHECK(has("TERM=dumb"));
  CHECK(has("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"));
  CHECK(has("https_proxy=http://proxy:3128"));
  CHECK(std::ranges::none_of(environment,
                             [](const std::string& entry) { return entry.starts_with("OPSAGENT"); }));
}

TEST_CASE("a script is given by a descriptor: it is nowhere in the arguments, and nobody can change it") {
  Command command{.argv = {"/bin/sh", kScriptPath}, .env = clean_environment()};
  command.script =
      "tr '\\0' ' ' </proc/$$/cmdline; echo; (echo evil >/proc/self/fd/3) 2>/dev/null || echo sealed; cat; "
      "echo done-5up3r";
  CHECK(must_run(command).output == "/bin/sh /proc/self/fd/3 \nsealed\ndone-5up3r\n");
}

TEST_CASE("a large script arrives whole") {
  Command command{.argv = {"/bin/sh", kScriptPath}, .env = clean_environment()};
  for (int i = 0; i < 20'000; ++i)
    command.script += ": a line of a long script\n";
  command.script += "echo arrived";
  CHECK(must_run(command).output == "arrived\n");
}

}  // namespace base
