#include "agent/runtime/command_store.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include <doctest/doctest.h>

#include "base/files/file_read.hpp"
#include "tests/support/scratch_folder.hpp"

using agent::runtime::CommandStore;

namespace {

constexpr const char* kBefore = "this command has come before";

std::string text_of(const std::string& path) {
  return *base::read_file(path, 8 * 1024 * 1024);
}

}  // namespace

TEST_CASE("a command that was taken is known after a restart, and nobody else can read which they were") {
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "commands";
  {
    CommandStore store(path);
    REQUIRE(store.load());
    CHECK(store.take("mid a", 1000, true).empty());
    CHECK(store.take("mid b", std::nullopt, false).empty());
    CHECK(store.take("mid a", 1000, true) == kBefore);
  }
  CommandStore again(path);
  REQUIRE(again.load());
  CHECK(again.take("mid a", 1000, true) == kBefore);
  CHECK(again.take("mid b", std::nullopt, true) == kBefore);
  CHECK(again.take("mid c", 1000, true).empty());
  CHECK((scratch.look("commands").st_mode & 0777) == 0600);
}

TEST_CASE("a process that is killed the moment after it took a command has noted it") {
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "commands";
  for (int round = 0; round < 20; ++round) {
    const std::string key = "mid " + std::to_string(round);
    const pid_t child = ::fork();
    if (child == 0) {
      CommandStore store(path);
      const bool is_taken = store.load() && store.take(key, 1000 + round, round % 2 == 0).empty();
      ::kill(::getpid(), is_taken ? SIGKILL : SIGTERM);
      ::_exit(1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(WTERMSIG(status) == SIGKILL);
    CommandStore store(path);
    REQUIRE(store.load());
    REQUIRE(store.take(key, 1000 + round, true) == kBefore);
  }
}

TEST_CASE("half a line is of a command that was not done, and what comes after it is not glued to it") {
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "commands";
  std::ofstream(path) << "5\tmid a\n-\tmid b\n9\tmid c";
  CommandStore store(path);
  REQUIRE(store.load());
  CHECK(store.take("mid a", 5, true) == kBefore);
  CHECK(store.take("mid b", std::nullopt, true) == kBefore);
  CHECK(store.take("mid c", 9, true).empty());
  CHECK(text_of(path) == "5\tmid a\n-\tmid b\n9\tmid c\n");
}

TEST_CASE("a damaged file is said to be, and what can be read of it counts") {
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "commands";
  std::ofstream(path) << "rubbish\n5\tmid a\nfloor\tx\n\n";
  CommandStore store(path);
  const auto loaded = store.load();
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().message().find("3 lines that cannot be read") != std::string::npos);
  CHECK(store.take("mid a", 5, true) == kBefore);
}

TEST_CASE("the file stays small, and forgets nothing that could come again") {
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "commands";
  constexpr int kMany = 20'000;
  {
    CommandStore store(path);
    for (int i = 0; i < kMany; ++i)
      REQUIRE(store.take("mid " + std::string(200, 'x') + std::to_string(i), 1'000'000 + i, false).empty());
  }
  CHECK(text_of(path).size() < 1'500'000);
  CommandStore store(path);
  REQUIRE(store.load());
  for (int i = 0; i < kMany; i += 7)
    REQUIRE_FALSE(
        store.take("mid " + std::string(200, 'x') + std::to_string(i), 1'000'000 + i, false).empty());
  CHECK(store.take("mid new", 1'000'000 + kMany, false).empty());
}

TEST_CASE("a command that cannot be noted is not done, but people may look") {
  const tests::ScratchFolder scratch;
  CommandStore store(scratch / "missing/commands");
  CHECK(store.take("mid a", 5, true).find("cannot be noted") != std::string::npos);
  CHECK(store.take("mid q", 5, false).empty());
  REQUIRE(::mkdir((scratch / "missing").c_str(), 0700) == 0);
  CHECK(store.take("mid a", 5, true).empty());
  CHECK(store.take("mid a", 5, true) == kBefore);
}

TEST_CASE("a line that did not fit does not damage the next one") {
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "commands";
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    CommandStore store(path);
    bool fine = store.take("mid first", 5, true).empty();
    const rlim_t size = text_of(path).size() + 3;
    rlimit limit{size, RLIM_INFINITY};
    fine = fine && ::setrlimit(RLIMIT_FSIZE, &limit) == 0 && !store.take("mid second", 6, true).empty();
    limit.rlim_cur = RLIM_INFINITY;
    fine = fine && ::setrlimit(RLIMIT_FSIZE, &limit) == 0 && store.take("mid third", 7, true).empty();
    ::_exit(fine ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(text_of(path) == "5\tmid first\n7\tmid third\n");
}
