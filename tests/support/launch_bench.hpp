// What the tests of the launcher share: the real one, with small scripts for agents.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "base/unique_fd.hpp"
#include "tests/support/scratch_folder.hpp"
#include "update/journal.hpp"
#include "update/layout.hpp"

namespace tests {

using namespace std::chrono_literals;
using update::Phase;
using update::Record;

inline std::string launcher_path() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "opsagent-launch").string();
}

inline bool wait_until(const std::function<bool()>& condition, std::chrono::milliseconds most = 20s) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

// PREFIX with versions 1-aa and 2-bb, whose programs append a line to `log` when they start.
class LaunchBench {
 public:
  LaunchBench() {
    folder_.folder("state");
    version("1-aa", "echo $$ > $HERE/pid; exec sleep 1000");
    version("2-bb", "echo $$ > $HERE/pid; exec sleep 1000");
    REQUIRE(layout.switch_to("1-aa"));
  }
  ~LaunchBench() {
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
  // `in_child`: what the launcher inherits.
  void launch(const char* watchdog = "60", const std::function<void()>& in_child = {}) {
    const std::string program = launcher_path();
    const std::string error = folder_ / "err";
    pid_ = ::fork();
    if (pid_ == 0) {
      ::freopen(error.c_str(), "a", stderr);
      if (in_child) in_child();
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

inline Record trial(Phase phase, std::chrono::seconds deadline = 180s) {
  return {.phase = phase, .version = "2", .from = "1-aa", .to = "2-bb", .deadline = deadline};
}

inline bool is_gone(pid_t pid) {
  return ::kill(pid, 0) != 0;
}

}  // namespace tests
