// linux.puppet.apply with the real program; run and agent with the real one as far as there is no server, and
// with a program that behaves as was recorded.
#include "states/puppet/puppet.hpp"

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include <doctest/doctest.h>

#include "base/values/redactor.hpp"
#include "states/state.hpp"
#include "states/versions/version_prefix.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/state_harness.hpp"

namespace states {
namespace linux_puppet_apply {
extern const StateType& kState;
}
namespace linux_puppet_run {
extern const StateType& kState;
}
namespace linux_puppet_agent {
extern const StateType& kState;
}
}  // namespace states

namespace {

using states::Verdict;
using tests::StateHarness;
const states::StateType& kApply = states::linux_puppet_apply::kState;
const states::StateType& kRun = states::linux_puppet_run::kState;
const states::StateType& kAgent = states::linux_puppet_agent::kState;

const bool kIsRoot = ::geteuid() == 0;
const bool kHasPuppet = kIsRoot && base::find_program("puppet").has_value();

// In the place of the machine's programs, for a process with mounts of its own: says how it was called, and
// ends as it is told.
void put_fake_puppet(int exit_code, const std::string& says) {
  if (::mount("tmpfs", "/usr/local/sbin", "tmpfs", 0, nullptr) != 0) throw std::runtime_error("no tmpfs");
  std::ofstream("/usr/local/sbin/puppet")
      << "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 7.23.0; exit; fi\n"
      << "printf '<%s>' \"$@\"; echo\necho '" << says << "'\nexit " << exit_code << "\n";
  ::chmod("/usr/local/sbin/puppet", 0755);
}

// The comment and the output of a run with such a program.
std::string with_fake(const states::StateType& type, const std::string& json, int exit_code,
                      const std::string& says = {}) {
  return tests::in_own_mounts([&]() -> std::string {
    put_fake_puppet(exit_code, says);
    StateHarness machine(StateHarness::RunningSystem{});
    const auto outcome = machine.converge(type, json);
    return (outcome.ok ? "ok: " : "failed: ") + outcome.message + "\n" + outcome.output;
  });
}

}  // namespace

TEST_CASE("puppet: versions are compared by their parts") {
  CHECK(states::versions::is_version("7.23.0", "7"));
  CHECK(states::versions::is_version("7.23.0", "7.23"));
  CHECK(states::versions::is_version("7.23.0", "7.23.0"));
  CHECK_FALSE(states::versions::is_version("7.23.0", "7.2"));
  CHECK_FALSE(states::versions::is_version("7.23.0", "8"));
}

TEST_CASE("linux.puppet.apply applies manifests, and says whether they changed anything" *
          doctest::skip(!kHasPuppet)) {
  StateHarness machine(StateHarness::RunningSystem{});
  machine.write("/one.pp", "file { '" + machine.root() + "/made': content => \"x\" }\n");
  machine.write("/two.pp", "notice('second')\n");
  const std::string json = R"({"manifests": [")" + machine.root() + R"(/one.pp", ")" + machine.root() +
                           R"(/two.pp"], "arguments": [{"key": "vardir", "value": ")" + machine.root() +
                           R"(/var"}, {"key": "verbose"}], "version": "7"})";
  machine.timeout = std::chrono::seconds(300);
  const auto plan = machine.plan(kApply, json);
  CHECK(plan.verdict == Verdict::change);
  CHECK_FALSE(machine.exists("/made"));
  const auto first = machine.converge(kApply, json);
  CHECK_MESSAGE(first.ok, first.message);
  CHECK(first.message == "Manifest " + machine.root() + "/one.pp applied: changes\n\nManifest " +
                             machine.root() + "/two.pp applied: no changes");
  CHECK(machine.read("/made") == "x");
  CHECK(machine.converge(kApply, json)
            .message.starts_with("Manifest " + machine.root() + "/one.pp applied: no changes"));
}

TEST_CASE("linux.puppet.apply stops at the first manifest that fails, with its error" *
          doctest::skip(!kHasPuppet)) {
  StateHarness machine(StateHarness::RunningSystem{});
  machine.timeout = std::chrono::seconds(300);
  machine.write("/bad.pp", "file { '/no/such/folder/x': content => 'y' }\n");
  machine.write("/next.pp", "file { '" + machine.root() + "/made': content => 'x' }\n");
  const auto manifests = [&](const std::string& name) { return "\"" + machine.root() + name + "\""; };
  const auto failed = machine.converge(
      kApply, R"({"manifests": [)" + manifests("/bad.pp") + ", " + manifests("/next.pp") + "]}");
  CHECK_FALSE(failed.ok);
  CHECK(failed.message.starts_with("Puppet failed (exit 4): Could not set 'file' on ensure"));
  CHECK_FALSE(machine.exists("/made"));
  CHECK(machine.plan(kApply, R"({"manifests": ["/no/such.pp"]})").message ==
        "Manifest /no/such.pp not found");
}

TEST_CASE("linux.puppet.run and agent call the program as it was always called" * doctest::skip(!kIsRoot)) {
  const std::string common =
      "<--onetime><--no-daemonize><--no-splay><--no-usecacheonfailure><--verbose><--show_diff>"
      "<--detailed-exitcodes><--color=false>";
  CHECK(with_fake(kRun, "{}", 0) == "ok: Puppet run finished: no changes\n<agent>" + common + "\n\n");
  CHECK(
      with_fake(
          kRun,
          R"({"arguments": [{"key": "agent"}, {"key": "noop"}, {"key": "tags", "value": "a b"}], "version": "7.23"})",
          2) == "ok: Puppet run finished: changes\n<agent>" + common + "<--noop><--tags=a b>\n\n");
  CHECK(with_fake(kRun, R"({"arguments": [{"key": "apply"}, {"key": "execute", "value": "notice 1"}]})", 0) ==
        "ok: Puppet run finished: no changes\n<apply><--detailed-exitcodes><--color=false><--execute=notice "
        "1>\n\n");
  CHECK(
      with_fake(
          kAgent,
          R"({"server": "puppet.example.org", "arguments": [{"key": "--environment", "value": "test"}], "version": "7"})",
          0) == "ok: Puppet run finished: no changes\n<agent>" + common +
                    "<--server=puppet.example.org><--environment=test>\n\n");
}

TEST_CASE("puppet: runs that fail say why" * doctest::skip(!kIsRoot)) {
  for (const int code : {1, 4, 6}) {
    const std::string said = with_fake(kAgent, R"({"server": "p"})", code,
                                       "Error: Facter: of no interest\nError: no such class\nError: second");
    CHECK(said.starts_with("failed: Puppet failed (exit " + std::to_string(code) + "): no such class\n"));
  }
  CHECK(with_fake(kRun, "{}", 1, "Notice: Run of Puppet configuration client already in progress; skipping")
            .starts_with("failed: Another run of Puppet is in progress\n"));
  // Of something else that a manifest runs.
  CHECK(with_fake(kRun, "{}", 0, "Notice: Exec[migrate]/returns: upgrade already in progress")
            .starts_with("ok: Puppet run finished: no changes\n"));
}

TEST_CASE("linux.puppet.agent fails without a server" * doctest::skip(!kHasPuppet)) {
  StateHarness machine(StateHarness::RunningSystem{});
  machine.timeout = std::chrono::seconds(300);
  const auto outcome = machine.converge(
      kAgent,
      R"({"server": "127.0.0.1", "arguments": [{"key": "serverport", "value": "9"}, {"key": "waitforcert", "value": "0"},
                  {"key": "confdir", "value": ")" +
          machine.root() + R"(/conf"}, {"key": "vardir", "value": ")" + machine.root() + R"(/var"}]})");
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message.starts_with("Puppet failed (exit 1): Connection to https://127.0.0.1:9/"));
}

TEST_CASE("puppet: what is no option, version, server or path is refused before anything runs") {
  StateHarness machine(StateHarness::RunningSystem{});
  const auto problem = [&](const std::string& more) {
    return machine.problems(kAgent, R"({"server": "p")" + more + "}");
  };
  CHECK(problem("").empty());
  for (const char* key : {"a b", "a;b", "--", "a=b"})
    CHECK(problem(R"(, "arguments": [{"key": ")" + std::string(key) + R"(", "value": "x"}])") ==
          "Illegal value for 'arguments': '" + std::string(key) + "'");
  for (const char* version : {"-1", "7 8", "$HOME"})
    CHECK(problem(R"(, "version": ")" + std::string(version) + "\"") ==
          "Illegal value for 'version': '" + std::string(version) + "'");
  for (const char* server : {"-x", "a b", "a/b", ".x"})
    CHECK(machine.problems(kAgent, R"({"server": ")" + std::string(server) + "\"}") ==
          "Illegal value for 'server': '" + std::string(server) + "'");
  CHECK(machine.problems(kApply, R"({"manifests": ["x.pp"]})") == "Illegal value for 'manifests': 'x.pp'");
  CHECK(machine.problems(kApply, "{}") == "Missing parameter 'manifests'");
  CHECK(machine.problems(kAgent, "{}") == "Missing parameter 'server'");
}

TEST_CASE("puppet: no secret is put among the arguments of a program" * doctest::skip(!kHasPuppet)) {
  StateHarness machine(StateHarness::RunningSystem{});
  base::Redactor redactor;
  redactor.add("hunter2-long");
  machine.redactor = &redactor;
  const auto plan =
      machine.plan(kRun, R"({"arguments": [{"key": "dns_alt_names", "value": "hunter2-long"}]})");
  CHECK(plan.verdict == Verdict::fail);
  CHECK(plan.message.starts_with("'arguments' must not hold a secret"));
}
