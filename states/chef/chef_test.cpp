// Chef is in no distribution: a program in its place behaves as the real one is documented to, and says how
// it was called.
#include "states/chef/chef.hpp"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "base/values/redactor.hpp"
#include "states/state.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/state_harness.hpp"

namespace states {
namespace linux_chef_client {
extern const StateType& kState;
}
namespace linux_chef_solo {
extern const StateType& kState;
}
}  // namespace states

namespace {

using states::Verdict;
using tests::StateHarness;
const states::StateType& kClient = states::linux_chef_client::kState;
const states::StateType& kSolo = states::linux_chef_solo::kState;

const bool kIsRoot = ::geteuid() == 0;

void put_fake(const std::string& path, int exit_code, const std::string& says) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path)
      << "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'Chef Infra Client: 17.10.0'; exit; fi\n"
      << "printf '<%s>' \"$@\"; echo\ncat <<'END'\n"
      << says << "\nEND\nexit " << exit_code << "\n";
  ::chmod(path.c_str(), 0755);
}

// The comment and the output of a run with such a program at this path.
std::string with_fake(const states::StateType& type, const std::string& json, int exit_code = 0,
                      const std::string& says = {}, const std::string& path = {}, bool sensitive = false) {
  return tests::in_own_mounts([&]() -> std::string {
    for (const char* folder : {"/usr/local/sbin", "/opt"})
      if (::mount("tmpfs", folder, "tmpfs", 0, nullptr) != 0) return "no tmpfs";
    const char* name = &type == &kClient ? "/usr/local/sbin/chef-client" : "/usr/local/sbin/chef-solo";
    put_fake(path.empty() ? name : path, exit_code, says);
    StateHarness machine(StateHarness::RunningSystem{});
    machine.sensitive = sensitive;
    const auto outcome = machine.converge(type, json);
    return (outcome.ok ? "ok: " : "failed: ") + outcome.message + "\n" + outcome.output;
  });
}

}  // namespace

TEST_CASE("linux.chef.client and solo: what the program is called with" * doctest::skip(!kIsRoot)) {
  CHECK(with_fake(kClient, R"({"server": "https://chef.example.org"})") ==
        "ok: Chef run finished\n<--server><https://chef.example.org><--once>\n\n");
  CHECK(
      with_fake(
          kClient,
          R"({"server": "https://chef.example.org", "client_key": "/etc/chef/key.pem", "config": "/etc/chef/c.rb",
                      "arguments": [{"key": "environment", "value": "test one"}, {"key": "--no-fork"}, {"key": ""}],
                      "version": "17.10"})") ==
      "ok: Chef run finished\n<--server><https://chef.example.org><--client_key></etc/chef/key.pem><--config>"
      "</etc/chef/c.rb><--once><--environment><test one><--no-fork>\n\n");
  // Without any option at all.
  CHECK(with_fake(kSolo, "{}") == "ok: Chef run finished\n<>\n\n");
  CHECK(with_fake(
            kSolo,
            R"({"config": "/etc/chef/solo.rb", "recipe_url": "https://example.org/c.tgz", "override_runlist":
                      "recipe[web],role[db]", "arguments": {"chef-license": "accept-silent"}, "version": 17})") ==
        "ok: Chef run finished\n<--config></etc/chef/solo.rb><--recipe-url><https://example.org/c.tgz>"
        "<--override-runlist><recipe[web],role[db]><--chef-license><accept-silent>\n\n");
}

TEST_CASE("chef: where the program is looked for" * doctest::skip(!kIsRoot)) {
  const std::string json = R"({"server": "https://c"})";
  for (const char* path :
       {"/opt/chef/bin/chef-client", "/usr/local/sbin/cinc-client", "/opt/cinc/bin/cinc-client"})
    CHECK(with_fake(kClient, json, 0, "", path).starts_with("ok: "));
  CHECK(with_fake(kSolo, "{}", 0, "", "/opt/cinc/bin/cinc-solo").starts_with("ok: "));
  // Not the other one, and nothing is installed for it.
  CHECK(with_fake(kSolo, "{}", 0, "", "/opt/chef/bin/chef-client") ==
        "failed: Chef is not installed on this host\n");
}

TEST_CASE("chef: a run that fails says why, and one that wants a reboot has not failed" *
          doctest::skip(!kIsRoot)) {
  const std::string json = R"({"server": "https://c"})";
  const std::string log =
      "[2024-05-01T10:00:00+00:00] INFO: an ERROR: in a text\n[2024-05-01T10:00:01+00:00] ERROR: first\n"
      "[2024-05-01T10:00:02+00:00] FATAL: Net::HTTPClientException: 401 \"Unauthorized\"\nChef Client "
      "failed.";
  CHECK(with_fake(kClient, json, 1, log)
            .starts_with(
                "failed: chef-client failed (exit 1): Net::HTTPClientException: 401 \"Unauthorized\"\n"));
  CHECK(with_fake(kClient, json, 1, "no such option", "/opt/cinc/bin/cinc-client")
            .starts_with("failed: cinc-client failed (exit 1): no such option\n"));
  CHECK(with_fake(kClient, json, 1, log, {}, true).starts_with("failed: chef-client failed (exit 1)\n"));
  CHECK(with_fake(kClient, json, 35).starts_with("ok: Chef run finished; a reboot is scheduled\n"));
  CHECK(with_fake(kClient, json, 36).starts_with("ok: Chef run finished; it asks for a reboot now\n"));
  CHECK(with_fake(kSolo, "{}", 37).starts_with("ok: Chef run finished; the machine needs a reboot\n"));
  CHECK(with_fake(kSolo, "{}", 213).starts_with("failed: chef-solo failed (exit 213): "));
  for (const char* version : {"17.1", "16", "17.10.0.1"})
    CHECK(with_fake(kSolo, R"({"version": ")" + std::string(version) + "\"}") ==
          "failed: Chef " + std::string(version) + " is wanted, and 17.10.0 is installed\n");
}

TEST_CASE("chef: a plan starts nothing" * doctest::skip(!kIsRoot)) {
  CHECK(tests::in_own_mounts([]() -> std::string {
          if (::mount("tmpfs", "/usr/local/sbin", "tmpfs", 0, nullptr) != 0) return "no tmpfs";
          std::ofstream("/usr/local/sbin/chef-solo") << "#!/bin/sh\ntouch /usr/local/sbin/was-started\n";
          ::chmod("/usr/local/sbin/chef-solo", 0755);
          StateHarness machine(StateHarness::RunningSystem{});
          const auto plan = machine.plan(kSolo, R"({"version": "17"})");
          if (std::filesystem::exists("/usr/local/sbin/was-started")) return "started";
          return plan.verdict == Verdict::change ? plan.message : "another verdict";
        }) == "Run Chef without a server");
}

TEST_CASE("chef: what is no option, version, address or path is refused before anything runs") {
  StateHarness machine;
  const auto problem = [&](const std::string& more) {
    return machine.problems(kClient, R"({"server": "https://c")" + more + "}");
  };
  CHECK(problem("").empty());
  for (const char* key : {"a b", "a;b", "--", "a=b"})
    CHECK(problem(R"(, "arguments": [{"key": ")" + std::string(key) + R"(", "value": "x"}])") ==
          "Illegal value for 'arguments': '" + std::string(key) + "'");
  CHECK(problem(R"(, "arguments": {"environment": "--daemonize"})") ==
        "Illegal value for 'arguments': '--daemonize'");
  for (const char* key : {"daemonize", "interval"})
    CHECK(problem(R"(, "arguments": {")" + std::string(key) + R"(": "30"})") ==
          "Illegal value for 'arguments': '" + std::string(key) + "': a run must come to an end");
  for (const char* version : {"-1", "7 8", "$HOME"})
    CHECK(problem(R"(, "version": ")" + std::string(version) + "\"") ==
          "Illegal value for 'version': '" + std::string(version) + "'");
  CHECK(problem(R"(, "client_key": "key.pem")") ==
        "Illegal value for 'client_key': 'key.pem': give an absolute path");
  for (const char* bad : {"--help", "a b"}) {
    const std::string value(bad);
    CHECK(problem(R"(, "config": ")" + value + "\"") == "Illegal value for 'config': '" + value + "'");
    CHECK(machine.problems(kClient, R"({"server": ")" + value + "\"}") ==
          "Illegal value for 'server': '" + value + "'");
    for (const char* name : {"config", "recipe_url", "override-runlist"})
      CHECK(machine.problems(kSolo, R"({")" + std::string(name) + R"(": ")" + value + "\"}") ==
            "Illegal value for '" + std::string(name) + "': '" + value + "'");
  }
  CHECK(
      machine.problems(kSolo, R"({"recipe_url": "https://bob:hunter2@example.org/c.tgz"})") ==
      "'recipe_url' must not hold a name and password: everybody on the machine can read the arguments of a "
      "program");
  CHECK(machine.problems(kSolo, R"({"arguments": {"json-attributes": "https://bob:hunter2@example.org/"}})")
            .find("hunter2") == std::string::npos);
  CHECK(machine.problems(kClient, "{}") == "Missing parameter 'server'");
}

TEST_CASE("chef: no secret is put among the arguments of a program") {
  StateHarness machine(StateHarness::RunningSystem{});
  base::Redactor redactor;
  redactor.add("hunter2-long");
  machine.redactor = &redactor;
  CHECK(machine.plan(kSolo, R"({"arguments": {"token": "hunter2-long"}})")
            .message.starts_with("The parameters must not hold a secret"));
}
