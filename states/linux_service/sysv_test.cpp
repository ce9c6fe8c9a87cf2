// linux.service with real init scripts, on a machine where systemd does not run.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_service {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::linux_service::kState;
using tests::StateHarness;

// A script in /etc/init.d that notes what it was asked, and "runs" as long as its file is there.
class InitScript {
 public:
  explicit InitScript(std::string name, std::string_view reload = "exit 0", std::string_view start = "")
      : name_(std::move(name)), path_("/etc/init.d/" + name_), state_("/run/test-" + name_) {
    REQUIRE(::access("/etc/opsagent-scratch", F_OK) == 0);
    std::ofstream(path_) << "#!/bin/sh\n"
                         << "### BEGIN INIT INFO\n# Provides: " << name_
                         << "\n# Required-Start:\n# Required-Stop:\n# Default-Start: 2 3 4 5\n"
                         << "# Default-Stop: 0 1 6\n### END INIT INFO\n"
                         << "echo \"$1\" >>" << state_ << ".calls\n"
                         << "case $1 in\n"
                         << "  status) test -e " << state_ << " || exit 3 ;;\n"
                         << "  start) " << start << "\n touch " << state_ << "; echo started ;;\n"
                         << "  stop) rm -f " << state_ << " ;;\n"
                         << "  restart) touch " << state_ << " ;;\n"
                         << "  reload) " << reload << " ;;\n"
                         << "  *) exit 2 ;;\n"
                         << "esac\n";
    ::chmod(path_.c_str(), 0755);
  }
  ~InitScript() {
    for (const std::string& file : {path_, state_, state_ + ".calls"})
      std::filesystem::remove(file);
  }
  void run() const { std::ofstream(state_) << ""; }
  bool runs() const { return std::filesystem::exists(state_); }
  // The calls since the last time, without those for the status.
  std::string calls() const {
    std::ifstream file(state_ + ".calls");
    std::string calls;
    for (std::string line; std::getline(file, line);)
      if (line != "status") calls += line + " ";
    std::filesystem::remove(state_ + ".calls");
    return calls;
  }

 private:
  std::string name_;
  std::string path_;
  std::string state_;
};

StateHarness::Outcome triggered(const std::string& json) {
  StateHarness machine{StateHarness::RunningSystem{}};
  machine.watch_triggered = true;
  machine.watch_changed = {"/etc/a", "/etc/b"};
  return machine.converge(kState, json);
}

}  // namespace

TEST_SUITE("system-sysv") {
  TEST_CASE("linux.service starts an init script that does not run, and then keeps it") {
    const InitScript web("web");
    StateHarness machine{StateHarness::RunningSystem{}};
    const auto plan = machine.plan(kState, R"({"name": "web"})");
    CHECK(plan.message == "Start web");
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].before == "not running: exit code 3");
    CHECK_FALSE(web.runs());

    const auto outcome = machine.converge(kState, R"({"name": "web"})");
    CHECK(outcome.ok);
    CHECK(outcome.message == "web started");
    CHECK(outcome.output == "started");
    CHECK(web.runs());
    CHECK(web.calls() == "start ");

    const auto again = machine.converge(kState, R"({"name": "web.service"})");
    CHECK(again.first == Verdict::kept);
    CHECK(again.message == "web.service is running");
    CHECK(web.calls().empty());
  }

  TEST_CASE("linux.service says how a script failed to start, and shows what it printed") {
    const InitScript web("web", "exit 0", "echo no such port; exit 7;");
    StateHarness machine{StateHarness::RunningSystem{}};
    const auto outcome = machine.converge(kState, R"({"name": "web"})");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message == "web did not start: exit code 7");
    CHECK(outcome.output == "no such port");
  }

  TEST_CASE("linux.service notices a script whose service is gone two seconds after its start") {
    const InitScript web("web", "exit 0", "(sleep 1; rm -f /run/test-web) >/dev/null 2>&1 &");
    StateHarness machine{StateHarness::RunningSystem{}};
    const auto outcome = machine.converge(kState, R"({"name": "web"})");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message == "web did not start: exit code 3");
  }

  TEST_CASE("linux.service acts on scripts as the value of the pair says when a watched file changed") {
    const struct {
      std::string_view value;
      bool runs;
      std::string_view calls;
      std::string_view message;
    } kTable[] = {
        {"null", true, "reload ", "web reloaded (changed: /etc/a, /etc/b)"},
        {R"("reload")", true, "reload ", "web reloaded (changed: /etc/a, /etc/b)"},
        {R"("restart")", true, "restart ", "web restarted (changed: /etc/a, /etc/b)"},
        {R"("service web restart && echo $0 $PWD >&2")", true, "restart ",
         "Action for web executed (changed: /etc/a, /etc/b)"},
        {"null", false, "start ", "web started"},
        {R"("reload")", false, "start ", "web started"},
        {R"("restart")", false, "start ", "web started"},
        {R"("service web start")", false, "start ", "Action for web executed (changed: /etc/a, /etc/b)"},
    };
    for (const auto& row : kTable) {
      CAPTURE(row.value);
      CAPTURE(row.runs);
      const InitScript web("web");
      if (row.runs) web.run();
      const auto outcome =
          triggered(R"({"name": [{"key": "web", "value": )" + std::string(row.value) + "}]}");
      CHECK(outcome.ok);
      CHECK(outcome.message == row.message);
      CHECK(web.calls() == row.calls);
    }
  }

  TEST_CASE("linux.service never restarts a script whose reload fails") {
    const InitScript web("web", "echo emerg; exit 1");
    web.run();
    for (const char* json : {R"({"name": "web"})", R"({"name": {"web": "reload"}})"}) {
      const auto outcome = triggered(json);
      CHECK_FALSE(outcome.ok);
      CHECK(outcome.message ==
            "web did not reload: exit code 1 (it was not restarted, and still runs as it was)");
      CHECK(outcome.output == "emerg");
      CHECK(web.calls() == "reload ");
      CHECK(web.runs());
    }
  }

  TEST_CASE("linux.service enables, disables and stops init scripts, and then keeps them so") {
    const InitScript web("web");
    const auto converge = [](const char* json) {
      StateHarness machine{StateHarness::RunningSystem{}};
      return machine.converge(kState, json);
    };
    const auto is_enabled = [] { return !std::system("ls /etc/rc2.d/S??web >/dev/null 2>&1"); };
    constexpr const char* kOn = R"({"name": "web", "enabled": true})";
    constexpr const char* kOff = R"({"name": "web", "enabled": false, "running": false})";
    CHECK(converge(kOn).message == "web enabled, started");
    CHECK(is_enabled());
    CHECK(converge(kOn).message == "web is running, enabled");
    CHECK(converge(kOff).message == "web disabled, stopped");
    CHECK_FALSE(is_enabled());
    CHECK_FALSE(web.runs());
    CHECK(converge(kOff).message == "web is not running, disabled");
    CHECK(converge(R"({"name": "web", "masked": true, "running": false})").message ==
          "Service web is an init script, which cannot be masked");
    CHECK(converge(R"({"name": "web", "masked": false, "running": false})").first == Verdict::kept);
    CHECK(std::system("update-rc.d -f web remove") == 0);
  }

  TEST_CASE("linux.service restarts a script that cannot reload only when no action is named") {
    const InitScript web("web", "exit 3");
    web.run();
    auto outcome = triggered(R"({"name": "web"})");
    CHECK(outcome.ok);
    CHECK(outcome.message == "web restarted (changed: /etc/a, /etc/b)");
    CHECK(web.calls() == "reload restart ");

    outcome = triggered(R"({"name": {"web": "reload"}})");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message ==
          "web did not reload: exit code 3 (it was not restarted, and still runs as it was)");
    CHECK(web.calls() == "reload ");
  }

  TEST_CASE("linux.service fails when an action fails, or leaves the service stopped") {
    const InitScript web("web");
    web.run();
    auto outcome = triggered(R"({"name": {"web": "echo oh no; exit 5"}})");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message == "Action for web failed (exit 5)");
    CHECK(outcome.output == "oh no");

    outcome = triggered(R"({"name": {"web": "kill -9 $$"}})");
    CHECK(outcome.message == "Action for web failed (signal 9)");

    outcome = triggered(R"({"name": {"web": "service web stop"}})");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message == "web is not running after its action: exit code 3");
  }

  TEST_CASE("linux.service runs an action in the agent's own folder") {
    const InitScript web("web");
    web.run();
    StateHarness machine{StateHarness::RunningSystem{}};
    machine.watch_triggered = true;
    const auto outcome = machine.converge(kState, R"({"name": {"web": "pwd; id -un"}})");
    CHECK(outcome.ok);
    CHECK(outcome.message == "Action for web executed");
    CHECK(outcome.output == machine.host().state_dir + "/tmp\nroot");
    CHECK(machine.mode("/state/tmp") == 0711);
  }

  TEST_CASE("linux.service tries all scripts before it fails") {
    const InitScript bad("bad", "exit 0", "exit 1");
    const InitScript good("good");
    const InitScript kept("kept");
    kept.run();
    StateHarness machine{StateHarness::RunningSystem{}};
    const auto outcome = machine.converge(kState, R"({"name": ["absent", "bad", "good", "kept"]})");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message ==
          "bad did not start: exit code 1\n\ngood started\n\nkept is running\n\n"
          "Service absent does not exist on this host");
    CHECK(good.runs());
  }

  TEST_CASE("linux.service restarts and reloads what runs when other states have changed something") {
    const InitScript web("web");
    const InitScript still("still");
    web.run();
    StateHarness machine{StateHarness::RunningSystem{}};
    const std::string json = R"({"name": ["web", "still"]})";
    machine.orders = {.restart_for = {}, .reload_for = {"vhost"}, .restarted = {}, .reloaded = {}};
    auto outcome = machine.converge(kState, json);
    CHECK_MESSAGE(outcome.ok, outcome.message);
    CHECK(outcome.message.find("web reloaded (changed: 'vhost')") != std::string::npos);
    CHECK(web.calls() == "reload ");
    CHECK(still.calls() == "start ");
    // The stronger of both, once; and whoever has done so is left alone.
    machine.orders = {
        .restart_for = {"cert"}, .reload_for = {"vhost"}, .restarted = {"still"}, .reloaded = {"still"}};
    machine.watch_triggered = true;
    machine.watch_changed = {"/etc/a"};
    machine.watch_reacted = {"still"};
    outcome = machine.converge(kState, json);
    CHECK(outcome.message.find("web restarted (changed: /etc/a, 'cert', 'vhost')") != std::string::npos);
    CHECK(web.calls() == "restart ");
    CHECK(still.calls().empty());
  }

  TEST_CASE("linux.service does not restart what the recipe wants stopped") {
    const InitScript web("web");
    StateHarness machine{StateHarness::RunningSystem{}};
    machine.orders = {.restart_for = {"cert"}, .reload_for = {}, .restarted = {}, .reloaded = {}};
    CHECK(machine.converge(kState, R"({"name": "web", "running": false})").first == Verdict::kept);
    CHECK(web.calls().empty());
  }
}
