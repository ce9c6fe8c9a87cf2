#include "backend/fleet/peer_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "base/unique_fd.hpp"
#include "tests/support/scratch_folder.hpp"

using backend::fleet::PeerLog;
using terminal::LogLevel;

namespace {

// What is in the log's file; what it says on standard error is not for whoever runs the tests.
template <class Write>
std::string logged(const Write& write) {
  const tests::ScratchFolder folder;
  const base::UniqueFd kept(::dup(STDERR_FILENO));
  const base::UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  ::dup2(nowhere.get(), STDERR_FILENO);
  if (auto log = terminal::Log::open(LogLevel::info, folder / "log")) {
    PeerLog peers(*log);
    write(peers);
  }
  ::dup2(kept.get(), STDERR_FILENO);
  std::ifstream file(folder / "log");
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t lines_with(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("an agent that says megabytes again and again leaves few short lines") {
  const std::string text = logged([](PeerLog& log) {
    for (int i = 0; i < 1000; ++i)
      log.write(LogLevel::info, "m1", "m1 says " + std::string(100'000, 'x'), 1000);
    log.write(LogLevel::info, "m2", "m2 is fine", 1000);
    log.tell_missed();
    log.tell_missed();
  });
  CHECK(text.size() < 100'000);
  CHECK(lines_with(text, "m1 says") == 50);
  CHECK(lines_with(text, "m2 is fine") == 1);
  CHECK(lines_with(text, "950 more lines about the agent m1 were left out") == 1);
}

TEST_CASE("the next line of an agent says how many were left out before it") {
  const std::string text = logged([](PeerLog& log) {
    for (int i = 0; i < 60; ++i)
      log.write(LogLevel::info, "m1", "word", 1000);
    log.write(LogLevel::debug, "m1", "not written, and not counted", 1000);
    log.write(LogLevel::info, "m1", "later", 1000 + 5000);
    log.tell_missed();
  });
  CHECK(text.find("later (10 lines before it were left out)\n") != std::string::npos);
  CHECK(text.find("more lines about") == std::string::npos);
}

TEST_CASE("of very many agents whose lines were left out a few are named, and the others counted") {
  const std::string text = logged([](PeerLog& log) {
    for (int peer = 0; peer < 100; ++peer)
      for (int i = 0; i < 51; ++i)
        log.write(LogLevel::info, "p" + std::to_string(peer), "word", 1000);
    log.tell_missed();
  });
  CHECK(lines_with(text, "1 more lines about the agent") == 20);
  CHECK(lines_with(text, "80 more lines about 80 other agents were left out") == 1);
}
