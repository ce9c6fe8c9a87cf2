#include "backend/domain/limits/report_cut.hpp"

#include <doctest/doctest.h>

#include "base/text.hpp"

namespace backend::domain {

namespace {

std::size_t texts_of(const protocol::StateLog& log) {
  std::size_t size = log.state_comment.size() + log.state_stdout.value_or("").size() + log.outcome.size();
  for (const protocol::Change& change : log.changes)
    size += change.what.size() + change.before.size() + change.after.size() + change.diff.size();
  return size;
}

}  // namespace

TEST_CASE("a text that is too long keeps its beginning and its end, and says how many bytes are missing") {
  CHECK(cut_middle("short", 100) == "short");
  const std::string text = std::string(500, 'a') + std::string(500, 'z');
  const std::string cut = cut_middle(text, 264);
  CHECK(cut == std::string(100, 'a') + "\n[... 800 bytes are not stored ...]\n" + std::string(100, 'z'));
  CHECK(cut.size() <= 264);
  CHECK(cut_middle(text, 10).empty());
}

TEST_CASE("no character is cut in two, wherever the cut falls") {
  std::string text;
  for (int i = 0; i < 400; ++i)
    text += i % 3 == 0 ? "é" : i % 3 == 1 ? "€" : "😀";
  for (std::size_t most = 64; most < 400; ++most) {
    const std::string cut = cut_middle(text, most);
    REQUIRE(cut.size() <= most);
    REQUIRE(base::is_utf8(cut));
    const std::size_t open = cut.find("[... "), close = cut.find(" bytes are not stored ...]");
    const auto missing = base::parse_integer(std::string_view(cut).substr(open + 5, close - open - 5));
    REQUIRE(missing);
    const std::size_t mark = std::to_string(*missing).size() + 33;
    CHECK(cut.size() - mark + static_cast<std::size_t>(*missing) == text.size());
  }
}

TEST_CASE("what an agent keeps of a program's output is stored whole") {
  protocol::StateLog log;
  log.state_stdout = std::string(128 * 1024, 'x') + "\n[... 12345 bytes dropped ...]\n";
  log.state_comment = "done";
  log.changes = {{"content", "a", "b", std::string(60'000, 'd')}};
  Report report = log;
  CHECK(shorten(report) == 0);
  CHECK(std::get<protocol::StateLog>(report) == log);
}

TEST_CASE("a result of 3.5 MB is stored as a part of it, whichever of its fields is large") {
  constexpr std::size_t kLarge = 3'500'000;
  constexpr std::size_t kMost = 450 * 1024;
  const auto stored = [](const protocol::StateLog& log) {
    Report report = log;
    CHECK(shorten(report) > 0);
    const auto& cut = std::get<protocol::StateLog>(report);
    CHECK(cut.truncated);
    return texts_of(cut);
  };
  protocol::StateLog log;
  log.state_stdout = std::string(kLarge, 'x');
  CHECK(stored(log) <= kLongestOutput);
  log = {};
  log.state_comment = std::string(kLarge, 'x');
  CHECK(stored(log) <= kLongestComment);
  log = {};
  log.outcome = std::string(kLarge, 'x');
  CHECK(stored(log) == 0);
  log = {};
  log.changes.resize(1);
  log.changes[0].diff = std::string(kLarge, 'x');
  CHECK(stored(log) <= kLongestDiff);
  log = {};
  log.changes.resize(100'000);
  for (protocol::Change& change : log.changes)
    change.what = "something that changed";
  CHECK(stored(log) <= kMostOfChanges + 100);
  Report report = log;
  shorten(report);
  CHECK(std::get<protocol::StateLog>(report).changes.back().what.find(" more changes") != std::string::npos);
  log.state_stdout = log.state_comment = std::string(kLarge, 'x');
  CHECK(stored(log) <= kMost);
}

TEST_CASE("the lists of rounds, statuses and updates are cut, too") {
  protocol::RoundEnd end;
  end.drift.assign(500'000, "state");
  for (int i = 0; i < 1000; ++i)
    end.counts["outcome " + std::to_string(i)] = 1;
  end.counts[std::string(10'000, 'k')] = 1;
  Report report = end;
  CHECK(shorten(report) > 0);
  const auto& round = std::get<protocol::RoundEnd>(report);
  CHECK(round.counts.size() == kMostCounts);
  CHECK(round.drift.size() == kMostDrift + 1);
  CHECK(round.drift.back() == "… and 499000 more states");

  protocol::RecipeStatus status;
  status.errors.assign(50'000, "a problem of some length");
  report = status;
  CHECK(shorten(report) > 0);
  std::size_t bytes = 0;
  for (const std::string& error : std::get<protocol::RecipeStatus>(report).errors)
    bytes += error.size();
  CHECK(bytes <= kMostOfProblems);

  protocol::UpdateStatus update;
  update.error = std::string(1'000'000, 'x');
  report = update;
  CHECK(shorten(report) > 0);
  CHECK(std::get<protocol::UpdateStatus>(report).error.size() <= kLongestProblem);
  report = protocol::RoundEnd{};
  CHECK(shorten(report) == 0);
}

}  // namespace backend::domain
