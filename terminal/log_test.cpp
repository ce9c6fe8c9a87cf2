#include "terminal/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "base/unique_fd.hpp"
#include "tests/support/scratch_folder.hpp"

using terminal::Log;
using terminal::LogLevel;

namespace {

std::string problem(const std::string& file) {
  auto log = Log::open(LogLevel::error, file);
  if (!log) return log.error().message();
  return {};
}

// What a log has in its file; what it says on standard error is not for whoever runs the tests.
template <class Write>
std::string logged(const Write& write) {
  const tests::ScratchFolder folder;
  const base::UniqueFd kept(::dup(STDERR_FILENO));
  const base::UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  ::dup2(nowhere.get(), STDERR_FILENO);
  {
    auto log = terminal::Log::open(terminal::LogLevel::info, folder / "log");
    if (log) write(*log);
  }
  ::dup2(kept.get(), STDERR_FILENO);
  std::ifstream file(folder / "log");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("a log file is made with its folders, and gone on with") {
  const tests::ScratchFolder scratch;
  for (int start = 0; start < 2; ++start)
    CHECK(problem(scratch / "a/b/log") == "");
  CHECK(scratch.mode("a/b/log") == 0640);
  // A link in our own folder, to our own folder, is our business.
  scratch.link("logs", "a/b");
  CHECK(problem(scratch / "logs/log") == "");
}

TEST_CASE("what is there under a log file's name must be a file of our own") {
  const tests::ScratchFolder scratch;
  scratch.write("precious", "precious");
  ::chmod((scratch / "precious").c_str(), 0600);
  SUBCASE("not a link") {
    scratch.link("log", "precious");
  }
  SUBCASE("not another name of a file") {
    std::filesystem::create_hard_link(scratch / "precious", scratch / "log");
  }
  SUBCASE("not a pipe") {
    REQUIRE(::mkfifo((scratch / "log").c_str(), 0600) == 0);
  }
  SUBCASE("not a folder") {
    scratch.folder("log");
  }
  CHECK(problem(scratch / "log").starts_with("cannot log to " + scratch / "log"));
  CHECK(scratch.read("precious") == "precious");
  CHECK(scratch.mode("precious") == 0600);
}

TEST_CASE("root does not log where a user could put a link" * doctest::skip(::geteuid() != 0)) {
  const tests::ScratchFolder scratch;
  scratch.folder("home/logs");
  scratch.folder("precious");
  scratch.link("home/link", "../precious");
  REQUIRE(::chown((scratch / "home").c_str(), 65534, 65534) == 0);
  for (const char* file : {"home/log", "home/logs/log", "home/link/log", "home/new/log"})
    CHECK_MESSAGE(problem(scratch / file).find("home") != std::string::npos, file);
  REQUIRE(::chown((scratch / "home").c_str(), 0, 0) == 0);
  REQUIRE(::chmod((scratch / "home").c_str(), 01777) == 0);  // as /tmp is
  CHECK(problem(scratch / "home/log").find("can be written to by everybody") != std::string::npos);
  CHECK(problem(scratch / "home/logs/log") == "");  // our own folder in it
  CHECK(scratch.count("precious") == 0);
  CHECK_FALSE(scratch.exists("home/new"));
}

TEST_CASE("one event is one line that reads as it was written, whatever a peer has said") {
  const std::string text = logged([](terminal::Log& log) { log.info("said: a\nb\x1b[2J\u202Ec\u2028d"); });
  CHECK(text.find("said: a; b\\x1b[2J\\u202ec\\u2028d\n") != std::string::npos);
  CHECK(text.find('\n') == text.size() - 1);
}

TEST_CASE("a line is never longer than a line may be") {
  const std::string text = logged([](terminal::Log& log) { log.info(std::string(4'000'000, 'x')); });
  CHECK(text.size() < 17 * 1024);
  CHECK(text.find("(4000000 bytes)") != std::string::npos);
}

TEST_CASE("a log knows which levels it writes") {
  logged([](terminal::Log& log) {
    CHECK(log.writes(terminal::LogLevel::info));
    CHECK_FALSE(log.writes(terminal::LogLevel::debug));
  });
}
