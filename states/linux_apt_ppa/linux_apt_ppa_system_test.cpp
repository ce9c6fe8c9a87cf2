#include <filesystem>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/apt_machine.hpp"

namespace states::linux_apt_ppa {
extern const StateType& kState;
}

TEST_SUITE_BEGIN("system");

namespace {

using states::Verdict;
using states::linux_apt_ppa::kState;
using namespace tests;

// Launchpad cannot be reached: the tool is a script that does what the real one is known to do.
struct PpaMachine : AptMachine {
  explicit PpaMachine(const std::string& script) {
    host().os.id = "ubuntu";
    put("/usr/local/bin/add-apt-repository", "#!/bin/sh\necho \"$@\" >/srv/arguments\n" + script,
        std::filesystem::perms(0755));
  }
  ~PpaMachine() { std::filesystem::remove("/usr/local/bin/add-apt-repository"); }
};

constexpr auto kPrivate = R"({"name": "owner/archive", "username": "me", "password": "hidden"})";

}  // namespace

TEST_CASE("apt: a PPA is added once, and its password is in no argument") {
  PpaMachine machine(
      "echo 'deb https://ppa.launchpadcontent.net/owner/archive/ubuntu jammy main' "
      ">/etc/apt/sources.list.d/owner.list\n");
  const auto outcome = machine.converge(kState, kPrivate);
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(outcome.message.starts_with("PPA owner/archive added"));
  CHECK(shell("cat /srv/arguments") == "--yes --no-update ppa:owner/archive");
  CHECK_FALSE(contains(outcome.output + outcome.message, "hidden"));
  CHECK(machine.converge(kState, kPrivate).first == Verdict::kept);
  shell("rm -f /etc/apt/auth.conf.d/owner-archive.conf");
}

TEST_CASE("apt: a PPA that does not exist is said not to be found, and what else fails is told") {
  PpaMachine missing("echo \"ERROR: ppa 'owner/archive' does not exist\"; exit 1\n");
  CHECK(missing.converge(kState, R"({"name": "owner/archive"})").message == "PPA owner/archive not found");
  PpaMachine failing("echo 'E: something else'; exit 3\n");
  CHECK(failing.converge(kState, R"({"name": "owner/archive"})").message ==
        "add-apt-repository failed (exit 3): E: something else");
  PpaMachine silent("exit 0\n");
  CHECK(silent.converge(kState, R"({"name": "owner/archive"})").message ==
        "PPA owner/archive is not among apt's sources after the run");
}

TEST_SUITE_END();
