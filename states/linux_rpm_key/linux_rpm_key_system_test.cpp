#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/dnf_machine.hpp"

namespace states::linux_rpm_key {
extern const StateType& kState;
}

TEST_SUITE_BEGIN("system-managers");

namespace {

using states::Verdict;
using states::linux_rpm_key::kState;
using namespace tests;

// The file of a new public key; its short id.
std::string make_key(const std::string& file, const std::string& who) {
  shell(
      "rm -rf /srv/gnupg; mkdir -m 700 /srv/gnupg; export GNUPGHOME=/srv/gnupg; "
      "gpg --batch --quiet --passphrase '' --quick-generate-key " +
      who +
      " rsa2048 sign never 2>/dev/null; "
      "gpg --batch --armor --export >>" +
      file + "; gpgconf --kill all");
  return shell(
      "GNUPGHOME=/srv/gnupg gpg --batch --with-colons --list-keys 2>/dev/null | "
      "awk -F: '$1 == \"pub\" { print tolower(substr($5, 9)) }'");
}

}  // namespace

TEST_CASE("rpm: keys are imported once, those that are missing only") {
  DnfMachine machine;
  shell("rm -f /srv/key /srv/both");
  const std::string first = make_key("/srv/key", "t-first@example.org");
  auto outcome = machine.converge(kState, R"({"path": "file:///srv/key"})");
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(outcome.message == "Key " + first + " imported");
  CHECK(contains(shell("rpm -q gpg-pubkey"), "gpg-pubkey-" + first));
  const auto kept = machine.converge(kState, R"({"path": "/srv/key"})");
  CHECK(kept.first == Verdict::kept);
  CHECK(kept.message == "Key " + first + " already imported");
  // Another one in the same file.
  const std::string second = make_key("/srv/key", "t-second@example.org");
  const auto plan = machine.plan(kState, R"({"path": "/srv/key"})");
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].what == "key " + second);
  CHECK(machine.converge(kState, R"({"path": "/srv/key"})").message == "Key " + second + " imported");
}

TEST_CASE("rpm: keys that have come into the file since the plan are not imported") {
  DnfMachine machine;
  shell("rm -f /srv/seen");
  const std::string first = make_key("/srv/seen", "t-seen@example.org");
  const auto plan = machine.plan(kState, R"({"path": "/srv/seen"})");
  REQUIRE(plan.changes.size() == 1);
  const std::string second = make_key("/srv/seen", "t-unseen@example.org");
  const auto applied = machine.apply(kState, R"({"path": "/srv/seen"})", plan);
  CHECK_FALSE(applied.ok());
  CHECK_MESSAGE(contains(applied.comment, "it has other keys now"), applied.comment);
  CHECK_FALSE(contains(shell("rpm -q gpg-pubkey || true"), "gpg-pubkey-" + second));
}

TEST_CASE("rpm: what is no key is refused, and reading a key writes nothing") {
  DnfMachine machine;
  put("/srv/none", "no key\n");
  const char* kHome = "find /root /srv /etc -newer /srv/none -type f ! -name '*-shm' | sort";
  CHECK(
      machine.plan(kState, R"({"path": "/srv/none"})").message.starts_with("/srv/none is not a public key"));
  CHECK(shell(kHome).empty());
}

TEST_SUITE_END();
