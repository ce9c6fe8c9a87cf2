#include <unistd.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "states/linux_supervisord/included_files.hpp"
#include "states/linux_supervisord/supervisor.hpp"
#include "states/state.hpp"
#include "tests/support/loop_device.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_supervisord {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::linux_supervisord::kState;
using tests::StateHarness;

const bool kHasSupervisor = [] {
  bool ok = false;
  tests::shell_output("command -v supervisord supervisorctl", ok);
  return ok && ::geteuid() == 0;
}();
#define NEEDS_SUPERVISOR *doctest::skip(!kHasSupervisor)

// A machine with a configuration of its own, whose supervisord ends with it.
struct Machine : StateHarness {
  Machine() : StateHarness(RunningSystem{}) { set_programs("[program:web]\ncommand=sleep 1000\n"); }
  ~Machine() {
    bool ok = false;
    tests::shell_output("supervisorctl -c " + config() + " shutdown", ok);
    for (int tries = 0; tries < 100 && exists("/pid"); ++tries)
      ::usleep(50'000);
  }
  std::string config() const { return root() + "/supervisord.conf"; }
  void set_programs(const std::string& programs) {
    write("/supervisord.conf",
          "[unix_http_server]\nfile=" + root() + "/sock\n[supervisord]\nlogfile=" + root() +
              "/log\npidfile=" + root() +
              "/pid\n[rpcinterface:supervisor]\nsupervisor.rpcinterface_factory=supervisor.rpcinterface:"
              "make_main_rpcinterface\n[supervisorctl]\nserverurl=unix://" +
              root() + "/sock\n" + programs);
  }
  std::string json(const std::string& names, const std::string& more = {}) const {
    return R"({"config": ")" + config() + R"(", "name": )" + names + more + "}";
  }
  std::string pid(const std::string& program) const {
    bool ok = false;
    return tests::shell_output("supervisorctl -c " + config() + " pid " + program, ok);
  }
};

}  // namespace

TEST_CASE("supervisorctl's status: states and what they say; other lines are none") {
  using namespace states::linux_supervisord;
  const Status status = parse_status(
      "web                              RUNNING   pid 12, uptime 0:00:02\n"
      "grp:a                            FATAL     Exited too quickly (process log may have details)\n"
      "grp:b                            STOPPED   Not started\n"
      "error: something RUNNING\nunix:///run/x no such file\n");
  CHECK(status.answers);
  REQUIRE(status.programs.size() == 3);
  CHECK(status.programs[1].detail == "Exited too quickly (process log may have details)");
  CHECK(programs_of(status, "grp").size() == 2);
  CHECK(programs_of(status, "grp:*").size() == 2);
  CHECK(programs_of(status, "grp:a").size() == 1);
  CHECK(programs_of(status, "gr").empty());
  CHECK(target_of(status, "grp") == "grp:*");
  CHECK(target_of(status, "grp:a") == "grp:a");
  CHECK(target_of(status, "web") == "web");
  CHECK_FALSE(parse_status("unix:///run/x no such file\n").answers);
}

TEST_CASE("linux.supervisord starts the daemon with its programs, and keeps both" NEEDS_SUPERVISOR) {
  Machine machine;
  const std::string json = machine.json(R"(["web"])");
  const auto plan = machine.plan(kState, json);
  CHECK(plan.message == "Start supervisord with " + machine.config() + "; Start web");
  CHECK_FALSE(machine.exists("/pid"));
  const auto outcome = machine.converge(kState, json);
  CHECK_MESSAGE(outcome.ok, outcome.message);
  // It may run by the time that we look, or need a moment more.
  CHECK(outcome.message.starts_with("supervisord started with " + machine.config() + "\n\nweb "));
  const std::string pid = machine.pid("web");
  const auto again = machine.converge(kState, json);
  CHECK(again.first == Verdict::kept);
  CHECK(again.message == "web is running");
  CHECK(machine.pid("web") == pid);
  // Stopped by somebody.
  tests::run_or_fail("supervisorctl -c " + machine.config() + " stop web");
  CHECK(machine.converge(kState, json).message == "web started");
}

TEST_CASE(
    "linux.supervisord takes in a changed configuration, and restarts only what changed" NEEDS_SUPERVISOR) {
  Machine machine;
  CHECK(machine.converge(kState, machine.json(R"("web")")).ok);
  const std::string pid = machine.pid("web");
  machine.set_programs(
      "[program:web]\ncommand=sleep 1000\n[program:a]\ncommand=sleep 1001\n[program:b]\n"
      "command=sleep 1002\n[group:grp]\nprograms=a,b\n");
  const std::string json = machine.json(R"(["web", "grp"])");
  const auto outcome = machine.converge(kState, json);
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(
      outcome.message.starts_with("supervisord has read " + machine.config() + "\n\nweb is running\n\ngrp "));
  CHECK(machine.pid("web") == pid);
  CHECK(machine.converge(kState, json).first == Verdict::kept);
  // One of the group alone is not enough.
  tests::run_or_fail("supervisorctl -c " + machine.config() + " stop grp:a");
  CHECK(machine.converge(kState, json).message == "web is running\n\ngrp started");
  CHECK(machine.converge(kState, json).first == Verdict::kept);
}

TEST_CASE("linux.supervisord takes in included files that come, change and go" NEEDS_SUPERVISOR) {
  Machine machine;
  std::filesystem::create_directory(machine.root() + "/conf.d");
  machine.set_programs("[program:web]\ncommand=sleep 1000\n[include]\nfiles = conf.d/*.conf\n");
  const std::string json = machine.json(R"(["web"])");
  CHECK(machine.converge(kState, json).ok);
  const std::string pid = machine.pid("web");
  const auto runs = [](const std::string& command) {
    bool ok = false;
    tests::shell_output("pgrep -f '^" + command + "$'", ok);
    return ok;
  };
  machine.write("/conf.d/more.conf", "[program:more]\ncommand=sleep 1717\n");
  machine.write("/conf.d/other.txt", "[program:other]\ncommand=sleep 1720\n");
  CHECK(machine.plan(kState, json).message == "Tell supervisord to read " + machine.config());
  CHECK(machine.converge(kState, json).ok);
  CHECK(runs("sleep 1717"));
  CHECK(machine.converge(kState, json).first == Verdict::kept);
  machine.write("/conf.d/more.conf", "[program:more]\ncommand=sleep 1718\n");
  CHECK(machine.converge(kState, json).changed);
  CHECK(runs("sleep 1718"));
  CHECK_FALSE(runs("sleep 1717"));
  std::filesystem::remove(machine.root() + "/conf.d/more.conf");
  CHECK(machine.converge(kState, json).changed);
  CHECK_FALSE(runs("sleep 1718"));
  CHECK(machine.converge(kState, json).first == Verdict::kept);
  CHECK(machine.pid("web") == pid);
  machine.overlay().add("earlier",
                        {{.kind = states::EffectKind::file, .name = machine.root() + "/conf.d/new.conf"}});
  CHECK(machine.plan(kState, json).depends_on == "earlier");
}

TEST_CASE("supervisord's includes: patterns, variables, lines that go on, and remarks") {
  using namespace states::linux_supervisord;
  CHECK(included_patterns(
            "[supervisord]\nfiles = /not\n[include]\n; files = /no\nfiles = a/*.conf ; b\n"
            "  /etc/c?.ini %(here)s/d\n\n  %(ENV_X)s/e\nother = 1\n  /not\n[program:x]\nfiles=/not\n",
            "/etc/s") == std::vector<std::string>{"/etc/s/a/*.conf", "/etc/c?.ini", "/etc/s/d"});
  CHECK(included_patterns("[program:x]\ncommand=y\n", "/etc").empty());
  CHECK(folder_of_pattern("/etc/s/a/*.conf") == "/etc/s/a");
  CHECK(folder_of_pattern("/e*/x") == "/");
}

TEST_CASE("linux.supervisord restarts programs when a watched file has changed" NEEDS_SUPERVISOR) {
  Machine machine;
  const std::string json = machine.json(R"(["web"])", R"(, "watch": ["/etc/web.conf"])");
  CHECK(machine.converge(kState, json).ok);
  const std::string pid = machine.pid("web");
  machine.watch_triggered = true;
  machine.watch_changed = {"/etc/web.conf"};
  const auto outcome = machine.converge(kState, json);
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(outcome.message == "web restarted (changed: /etc/web.conf)");
  CHECK(machine.pid("web") != pid);
  // Whoever has reacted before is left alone.
  machine.watch_reacted = {"web"};
  CHECK(machine.converge(kState, json).first == Verdict::kept);
}

TEST_CASE("linux.supervisord restarts programs when other states have changed something" NEEDS_SUPERVISOR) {
  Machine machine;
  const std::string json = machine.json(R"(["web"])");
  CHECK(machine.converge(kState, json).ok);
  const std::string pid = machine.pid("web");
  machine.orders = {.restart_for = {"app"}, .reload_for = {}, .restarted = {}, .reloaded = {}};
  const auto outcome = machine.converge(kState, json);
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(outcome.message == "web restarted (changed: 'app')");
  CHECK(machine.pid("web") != pid);
  machine.orders.restarted = {"web"};
  CHECK(machine.converge(kState, json).first == Verdict::kept);
}

TEST_CASE("linux.supervisord says how each program is, and tries all" NEEDS_SUPERVISOR) {
  Machine machine;
  machine.set_programs(
      "[program:bad]\ncommand=/bin/false\nstartretries=0\n[program:web]\ncommand=sleep 1000\n");
  const auto outcome = machine.converge(kState, machine.json(R"(["bad", "nothing", "web"])"));
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message.find("bad is FATAL: Exited too quickly") != std::string::npos);
  CHECK(outcome.message.find("Program nothing is not defined in " + machine.config()) != std::string::npos);
  CHECK(outcome.message.find("web is running") != std::string::npos);
}

TEST_CASE("linux.supervisord fails with a reason" NEEDS_SUPERVISOR) {
  Machine machine;
  CHECK(machine.plan(kState, R"({"config": "/no/such.conf", "name": ["x"]})").message ==
        "Configuration /no/such.conf not found");
  machine.write("/supervisord.conf", "[unix_http_server]\nfile=" + machine.root() +
                                         "/sock\n[supervisorctl]\nserverurl=unix://" + machine.root() +
                                         "/sock\n");
  const auto outcome = machine.converge(kState, machine.json(R"(["x"])"));
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message.starts_with("supervisord does not start with " + machine.config()));
  machine.overlay().add("conf", {{.kind = states::EffectKind::file, .name = machine.config()}});
  CHECK(machine.plan(kState, machine.json(R"(["x"])")).depends_on == "conf");
}

TEST_CASE("linux.supervisord refuses what is no name or path, before anything runs") {
  StateHarness machine(StateHarness::RunningSystem{});
  for (const char* name : {"all", "-c", "a b", "a\\nb"}) {
    CAPTURE(name);
    CHECK(machine.problems(kState, R"({"config": "/x", "name": [")" + std::string(name) + "\"]}")
              .starts_with("Illegal value for 'name': "));
  }
  CHECK(machine.problems(kState, R"({"config": "x", "name": ["a"]})") == "Illegal value for 'config': 'x'");
  CHECK(machine.problems(kState, R"({"config": "/x", "name": ["a"], "watch": ["b"]})") ==
        "Illegal value for 'watch': 'b'");
  CHECK(machine.problems(kState, "{}") == "Missing parameter 'config'\nMissing parameter 'name'");
  // A name is an argument, never a command.
  CHECK(machine.problems(kState, R"({"config": "/x", "name": ["$(id);reboot"]})").empty());
}
