// linux.apt.package with package files from a server, with a real apt and dpkg. Only in a scratch machine.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "base/sha256.hpp"
#include "states/state.hpp"
#include "tests/support/apt_machine.hpp"
#include "tests/support/web_files.hpp"

namespace states::linux_apt_package {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::linux_apt_package::kState;
using tests::build;
using tests::contains;
using Outcome = tests::StateHarness::Outcome;

struct Machine : tests::AptMachine {
  Machine() { host().downloads.allow_unverified_http = {"127.0.0.1"}; }
  // A package's file on the server; answers the address.
  std::string serve(const tests::Package& package, const std::string& path) {
    std::ifstream file(build(package, "/srv/files"), std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    server.put(path, bytes.str());
    return server.url(path);
  }
  Outcome have(const std::string& url) {
    next_round();
    return converge(kState, R"({"name": {"label": ")" + url + "\"}}");
  }
  tests::WebFiles server;
};

}  // namespace

TEST_SUITE("system") {
  TEST_CASE("apt: a package file comes over http only if the recipe says which one it is") {
    Machine machine;
    machine.host().downloads.allow_unverified_http.clear();
    const std::string url = machine.serve({"t-remote", "1.0"}, "/t-remote_1.0.deb");
    const Outcome refused = machine.have(url);
    CHECK_FALSE(refused.ok);
    CHECK_MESSAGE(contains(refused.message, "anybody on the way can send another file"), refused.message);
    CHECK(machine.server.requests() == 0);
    std::ifstream file(build({"t-remote", "1.0"}, "/srv/files"), std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    const std::string sum = "#sha256=" + base::sha256_hex(bytes.str());
    // Somebody on the way sends another package.
    (void)machine.serve({"t-evil", "1.0"}, "/t-remote_1.0.deb");
    CHECK_MESSAGE(machine.have(url + sum).message.starts_with("Checksum mismatch for "), "not refused");
    CHECK(machine.found("t-evil").empty());
    machine.server.put("/t-remote_1.0.deb", bytes.str());
    const Outcome outcome = machine.have(url + sum);
    CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
    CHECK(machine.found("t-remote") == "installed 1.0");
    CHECK(machine.have(url + sum).first == Verdict::kept);
  }

  TEST_CASE("apt: a package file of a server is fetched, installed with what it needs, and remembered") {
    Machine machine;
    machine.offer({{"t-needed", "1.0"}});
    const std::string url = machine.serve({"t-remote", "1.0", "Depends: t-needed\n"}, "/t-remote_1.0.deb");
    const auto plan = machine.plan(kState, R"({"name": {"label": ")" + url + "\"}}");
    CHECK(plan.verdict == Verdict::change);
    CHECK(machine.server.requests() == 0);
    Outcome outcome = machine.have(url);
    CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
    CHECK(machine.found("t-remote") == "installed 1.0");
    CHECK(machine.found("t-needed") == "installed 1.0");
    CHECK(contains(outcome.message, "t-remote (1.0)"));
    CHECK(std::filesystem::is_empty(machine.host().state_dir + "/downloads"));
    CHECK(machine.have(url).first == Verdict::kept);
    CHECK(machine.server.requests() == 1);
    // Another version, under another address.
    const std::string newer = machine.serve({"t-remote", "2.0"}, "/t-remote_2.0.deb");
    CHECK(machine.have(newer).changed);
    CHECK(machine.found("t-remote") == "installed 2.0");
    CHECK(machine.have(newer).first == Verdict::kept);
    // The first one again: a downgrade, which it asks for.
    CHECK(machine.have(url).changed);
    CHECK(machine.found("t-remote") == "installed 1.0");
  }

  TEST_CASE("apt: what is installed already is not installed again because its address is new") {
    Machine machine;
    const std::string url = machine.serve({"t-remote", "1.0"}, "/a.deb");
    CHECK(machine.have(url).changed);
    const std::string same = machine.serve({"t-remote", "1.0"}, "/b.deb");
    const Outcome outcome = machine.have(same);
    CHECK_MESSAGE(outcome.ok, outcome.message);
    CHECK_MESSAGE(contains(outcome.message, "already as wanted"), outcome.message);
  }

  TEST_CASE("apt: what is no package, or cannot be fetched, changes nothing") {
    Machine machine;
    machine.server.put("/x.deb", "<html>this is a page</html>");
    const std::string url = machine.server.url("/x.deb");
    CHECK_MESSAGE(machine.have(url).message.starts_with(url + " is not a Debian package: "),
                  machine.have(url).message);
    const std::string none = machine.server.url("/none.deb");
    CHECK(machine.have(none).message == "Cannot download " + none + ": HTTP 404");
    CHECK(machine.have("http://127.0.0.1:1/x.deb")
              .message.starts_with("Cannot download http://127.0.0.1:1/x.deb: "));
    // What fails later leaves no file behind either.
    const std::string lacking = machine.serve({"t-remote", "1.0", "Depends: t-nowhere\n"}, "/y.deb");
    CHECK_FALSE(machine.have(lacking).ok);
    CHECK(machine.found("t-remote") == "");
    for (const auto& entry : std::filesystem::directory_iterator(machine.host().state_dir + "/downloads"))
      CHECK(entry.path().extension() != ".deb");
  }
}
