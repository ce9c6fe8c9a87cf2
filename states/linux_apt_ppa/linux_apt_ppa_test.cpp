#include <unistd.h>

#include <doctest/doctest.h>

#include "states/linux_apt_ppa/ppa_sources.hpp"
#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_apt_ppa {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::linux_apt_ppa::kState;
using tests::StateHarness;

constexpr auto kWanted = R"({"name": "ppa:owner/archive"})";
const std::string kFolder = "/etc/apt/sources.list.d/";

struct UbuntuMachine : StateHarness {
  UbuntuMachine() {
    host().os.id = "ubuntu";
    host().os.family = base::OsRelease::Family::debian;
  }
};

}  // namespace

TEST_CASE("linux.apt.ppa exists only for Ubuntu") {
  StateHarness machine;
  machine.host().os.id = "debian";
  const auto plan = machine.plan(kState, kWanted);
  CHECK(plan.verdict == Verdict::fail);
  CHECK(plan.message == "PPAs exist only for Ubuntu");
}

TEST_CASE("linux.apt.ppa finds an enabled entry in either form") {
  using namespace states::linux_apt_ppa;
  for (const char* text :
       {"deb https://ppa.launchpadcontent.net/owner/archive/ubuntu jammy main",
        "# x\n deb [signed-by=/x] http://ppa.launchpad.net/owner/archive/ubuntu/ jammy main # y\n",
        "deb https://me:x@private-ppa.launchpadcontent.net/owner/archive/ubuntu jammy main"}) {
    CAPTURE(text);
    CHECK(list_names_ppa(text, "owner/archive"));
  }
  for (const char* text : {"", "# deb https://ppa.launchpadcontent.net/owner/archive/ubuntu jammy main",
                           "deb https://ppa.launchpadcontent.net/owner/archive-2/ubuntu jammy main",
                           "deb https://ppa.launchpadcontent.net/other/owner/archive/ubuntu jammy main",
                           "deb https://example.org/owner/archive/ubuntu jammy main",
                           "deb https://ppa.launchpad.net.evil.org/owner/archive/ubuntu jammy main"}) {
    CAPTURE(text);
    CHECK_FALSE(list_names_ppa(text, "owner/archive"));
  }
  const std::string stanza =
      "Types: deb\nURIs: https://example.org/x\n https://ppa.launchpadcontent.net/owner/archive/ubuntu/\n";
  CHECK(sources_name_ppa("# made by a tool\n\n" + stanza + "Suites: noble\n", "owner/archive"));
  CHECK(sources_name_ppa("Enabled: no\n" + stanza + "\nenabled: YES\n" + stanza, "owner/archive"));
  CHECK_FALSE(sources_name_ppa("Enabled: no\n" + stanza, "owner/archive"));
  CHECK_FALSE(sources_name_ppa(stanza, "owner/archive2"));
}

TEST_CASE("linux.apt.ppa keeps what is configured, and plans without writing anything") {
  UbuntuMachine machine;
  machine.write(kFolder + "other.list",
                "deb https://ppa.launchpadcontent.net/owner/archive/ubuntu jammy main\n");
  CHECK(machine.plan(kState, kWanted).message == "PPA owner/archive is already configured");
  machine.write(kFolder + "other.list.save",
                "deb https://ppa.launchpadcontent.net/owner/more/ubuntu jammy main\n");
  const std::string before = machine.snapshot();
  const auto plan = machine.plan(kState, R"({"name": "owner/more"})");
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.message == "Add PPA owner/more");
  CHECK(machine.snapshot() == before);
}

TEST_CASE("linux.apt.ppa shows no credentials, and writes them for root only" *
          doctest::skip(::geteuid() != 0)) {
  UbuntuMachine machine;
  machine.write(kFolder + "p.list",
                "deb https://private-ppa.launchpadcontent.net/owner/archive/ubuntu jammy main\n");
  constexpr auto kPrivate = R"({"name": "owner/archive", "username": "me", "password": "hidden"})";
  const auto plan = machine.plan(kState, kPrivate);
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].diff.empty());
  CHECK((plan.message + plan.changes[0].after).find("hidden") == std::string::npos);
  const auto outcome = machine.converge(kState, kPrivate);
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(outcome.output.empty());
  const std::string file = "/etc/apt/auth.conf.d/owner-archive.conf";
  CHECK(machine.mode(file) == 0600);
  CHECK(machine.read(file).find(
            "machine https://private-ppa.launchpadcontent.net/owner/archive login me password hidden") !=
        std::string::npos);
  CHECK(machine.converge(kState, kPrivate).first == Verdict::kept);
}

TEST_CASE("linux.apt.ppa refuses what is no archive") {
  StateHarness machine;
  for (const char* name : {"owner", "/archive", "owner/", "a/b/c", "-x/y", "x/-y", "a b/c", "a;id/c",
                           "ppa:", "https://x/y", "../x", "$(id)/x"}) {
    CAPTURE(name);
    CHECK(machine.problems(kState, R"({"name": ")" + std::string(name) + "\"}") ==
          "Illegal value for 'name': '" + std::string(name) + "'");
  }
  CHECK(machine.problems(kState, "{}") == "Missing parameter 'name'");
  CHECK(machine.problems(kState, R"({"name": "a/b", "username": "x"})") ==
        "'username' and 'password' go together");
  CHECK(machine.problems(kState, R"({"name": "a/b", "username": "x", "password": "a\nmachine b"})") ==
        "Neither 'username' nor 'password' may have blanks");
}
