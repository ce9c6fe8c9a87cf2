#include "terminal/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "base/unique_fd.hpp"
#include "tests/support/scratch_folder.hpp"

namespace {

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
