#include "states/debian/debian_version.hpp"

#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/programs/process.hpp"

namespace {

using states::debian::compare_debian_versions;
using states::debian::is_debian_version;

int sign(int value) {
  return (value > 0) - (value < 0);
}

// dpkg's own answer to many comparisons, with one program per batch: the shell only loops over its arguments.
std::vector<int> ask_dpkg(const std::vector<std::pair<std::string, std::string>>& pairs) {
  base::Command command;
  command.env = base::clean_environment();
  command.argv = {"/bin/sh", "-c",
                  "while [ $# -gt 0 ]; do"
                  "  if dpkg --compare-versions \"$1\" lt \"$2\"; then printf '<';"
                  "  elif dpkg --compare-versions \"$1\" gt \"$2\"; then printf '>';"
                  "  else printf '='; fi; shift 2; done 2>/dev/null",
                  "sh"};
  for (const auto& [a, b] : pairs) {
    command.argv.push_back(a);
    command.argv.push_back(b);
  }
  const auto done = base::run(command);
  REQUIRE(done);
  std::vector<int> answers;
  for (const char c : done->output)
    answers.push_back(c == '<' ? -1 : c == '>' ? 1 : 0);
  return answers;
}

void check_against_dpkg(const std::vector<std::pair<std::string, std::string>>& pairs) {
  const std::vector<int> answers = ask_dpkg(pairs);
  REQUIRE(answers.size() == pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    CAPTURE(pairs[i].first);
    CAPTURE(pairs[i].second);
    CHECK(sign(compare_debian_versions(pairs[i].first, pairs[i].second)) == answers[i]);
    CHECK(sign(compare_debian_versions(pairs[i].second, pairs[i].first)) == -answers[i]);
  }
}

const bool kHasDpkg = base::find_program("dpkg").has_value();

}  // namespace

TEST_CASE("versions are ordered as the Debian policy says") {
  const std::vector<std::string> ascending{
      "0~~",     "0~~a",     "0~",       "0",        "0a",        "0+",      "0.1~rc1",    "0.1",
      "0.1-0.1", "0.1-1",    "0.1-1+b1", "0.1-1.1",  "0.1-2",     "0.1-10",  "0.1.0",      "0.9",
      "0.10",    "1.0~~",    "1.0~beta", "1.0~rc1",  "1.0~rc2-1", "1.0",     "1.0-1~bpo1", "1.0-1",
      "1.0a",    "1.0+dfsg", "1.0.1",    "20200101", "1:0.1",     "1:0.1-1", "2:0",        "10:0"};
  for (std::size_t i = 0; i < ascending.size(); ++i)
    for (std::size_t j = 0; j < ascending.size(); ++j) {
      CAPTURE(ascending[i]);
      CAPTURE(ascending[j]);
      CHECK(sign(compare_debian_versions(ascending[i], ascending[j])) == (i < j ? -1 : i > j ? 1 : 0));
    }
}

TEST_CASE("versions that are written differently may be the same") {
  CHECK(compare_debian_versions("1.0", "1.0-0") == 0);
  CHECK(compare_debian_versions("0:1.0", "1.0") == 0);
  CHECK(compare_debian_versions("1.00", "1.0") == 0);
  CHECK(compare_debian_versions("1.0", "1.0") == 0);
}

TEST_CASE("numbers in versions may be longer than any integer type") {
  CHECK(compare_debian_versions("1.99999999999999999999999999999", "1.100000000000000000000000000000") < 0);
}

TEST_CASE("versions compare as dpkg compares them" * doctest::skip(!kHasDpkg)) {
  const std::vector<std::string> versions{"1",
                                          "1.0",
                                          "1.0-0",
                                          "1.0-1",
                                          "1:1",
                                          "0:1",
                                          "1~",
                                          "1~~",
                                          "1a",
                                          "1.a",
                                          "1+",
                                          "1+b1",
                                          "1-1~deb12u1",
                                          "1-1+deb12u1",
                                          "1.0-1-1",
                                          "01",
                                          "1.-1",
                                          "1.0~+1",
                                          "4:12.2.0-3",
                                          "2.36-9+deb12u10",
                                          "2.36-9+deb12u9"};
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::size_t i = 0; i < versions.size(); ++i)
    for (std::size_t j = i; j < versions.size(); ++j)
      pairs.emplace_back(versions[i], versions[j]);
  check_against_dpkg(pairs);
}

TEST_CASE("random versions compare as dpkg compares them" * doctest::skip(!kHasDpkg)) {
  std::mt19937 random(20240229);  // the same pairs in every run
  const std::string alphabet = "0019a~.+-z";
  const auto version = [&] {
    std::string text = random() % 4 == 0 ? std::to_string(random() % 3) + ":" : "";
    text += static_cast<char>('0' + random() % 3);
    for (auto length = random() % 6; length > 0; --length)
      text += alphabet[random() % alphabet.size()];
    // dpkg refuses an empty revision.
    return text.ends_with('-') ? text + "1" : text;
  };
  std::vector<std::pair<std::string, std::string>> pairs;
  for (int i = 0; i < 400; ++i)
    pairs.emplace_back(version(), version());
  check_against_dpkg(pairs);
}

TEST_CASE("what is no version is told apart") {
  for (const char* good : {"1", "1.0", "1:2.0-1", "10.18", "2.36-9+deb12u10", "1.0~rc1", "0:0"}) {
    CAPTURE(good);
    CHECK(is_debian_version(good));
  }
  for (const char* bad : {"", "latest", "true", "1 0", "a:1", ":1", "1:", "v1.0", "<1", "1.0;rm", "-1"}) {
    CAPTURE(bad);
    CHECK_FALSE(is_debian_version(bad));
  }
}
