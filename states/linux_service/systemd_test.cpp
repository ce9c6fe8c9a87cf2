// linux.service with real units, on a machine that systemd has booted.
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "base/unique_fd.hpp"
#include "states/state.hpp"
#include "states/systemd/systemd_session.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_service {
extern const StateType& kState;
}

namespace {

using states::AppliedEnd;
using states::Verdict;
using states::linux_service::kState;
using std::chrono::steady_clock;
using tests::StateHarness;

bool shell(const std::string& command) {
  return std::system(command.c_str()) == 0;
}

// A unit that is there for as long as this lives. Its programs note what they do by "echo >>$LOG".
class Unit {
 public:
  Unit(std::string name, std::string_view text)
      : name_(std::move(name)), path_("/run/systemd/system/" + name_) {
    REQUIRE(::access("/etc/opsagent-scratch", F_OK) == 0);
    write(text);
  }
  ~Unit() {
    shell("systemctl stop " + name_ + " 2>/dev/null; systemctl reset-failed " + name_ + " 2>/dev/null");
    std::filesystem::remove(path_);
    std::filesystem::remove(log());
    shell("systemctl daemon-reload");
  }
  void write(std::string_view text) const {
    std::ofstream(path_) << "[Service]\nEnvironment=LOG=" << log() << "\n" << text;
  }
  bool runs() const { return shell("systemctl is-active --quiet " + name_); }
  // Until its program has noted that it runs: systemd is content as soon as there is a process.
  void start() const {
    const std::string before = noted();
    REQUIRE(shell("systemctl start " + name_));
    for (int i = 0; i < 500 && noted() == before; ++i)
      ::usleep(10'000);
    REQUIRE(noted() != before);
  }
  std::string noted() const {
    std::ifstream file(log());
    std::string all;
    for (std::string line; std::getline(file, line);)
      all += line + " ";
    return all;
  }

 private:
  std::string log() const { return "/run/noted-" + name_; }
  std::string name_;
  std::string path_;
};

constexpr std::string_view kPlain = "ExecStart=/bin/sh -c 'echo run >>$LOG; exec sleep infinity'\n";
constexpr std::string_view kReloadable =
    "ExecStart=/bin/sh -c 'echo run >>$LOG; exec sleep infinity'\n"
    "ExecReload=/bin/sh -c 'echo reload >>$LOG'\n";

StateHarness::Outcome converge(const std::string& json) {
  StateHarness machine{StateHarness::RunningSystem{}};
  return machine.converge(kState, json);
}

StateHarness::Outcome triggered(const std::string& json) {
  StateHarness machine{StateHarness::RunningSystem{}};
  machine.watch_triggered = true;
  machine.watch_changed = {"/etc/a"};
  return machine.converge(kState, json);
}

// Asked to stop after a while.
class StopAfter final : public base::Interrupt {
 public:
  explicit StopAfter(std::chrono::milliseconds time)
      : timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) {
    itimerspec when{};
    when.it_value.tv_nsec = std::chrono::nanoseconds(time).count();
    REQUIRE(::timerfd_settime(timer_.get(), 0, &when, nullptr) == 0);
  }
  bool requested() override {
    pollfd timer{.fd = timer_.get(), .events = POLLIN};
    return ::poll(&timer, 1, 0) == 1;
  }
  int wait_fd() const override { return timer_.get(); }

 private:
  base::UniqueFd timer_;
};

class NobodyWaits final : public states::Waits {
 public:
  bool is_done(std::string_view) override { return false; }
  base::Result<void> wait(std::string_view, Deadline) override { return {}; }
};

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE("system") {
  TEST_CASE("linux.service starts a unit that does not run, and then keeps it without touching it") {
    const Unit web("web.service", kPlain);
    StateHarness machine{StateHarness::RunningSystem{}};
    const auto plan = machine.plan(kState, R"({"name": "web"})");
    CHECK(plan.verdict == Verdict::change);
    CHECK(plan.message == "Start web");
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].what == "service web");
    CHECK(plan.changes[0].before == "not running: inactive/success");
    CHECK(plan.changes[0].after == "running");
    CHECK_FALSE(web.runs());

    const auto outcome = converge(R"({"name": "web"})");
    CHECK(outcome.ok);
    CHECK(outcome.message == "web started");
    CHECK(web.runs());
    for (const char* name : {R"({"name": "web"})", R"({"name": "web.service"})"}) {
      const auto again = converge(name);
      CHECK(again.first == Verdict::kept);
      CHECK(contains(again.message, " is running"));
    }
    CHECK(web.noted() == "run ");
  }

  TEST_CASE("linux.service says why a unit did not start, and shows its journal") {
    const Unit web("web.service", "ExecStart=/bin/sh -c 'echo cannot open the gate; exit 4'\n");
    auto outcome = converge(R"({"name": "web"})");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message == "web did not start: failed/exit-code");
    CHECK(contains(outcome.output, "cannot open the gate"));
    CHECK(contains(outcome.output, "status=4"));

    const Unit no("no.service", "Type=oneshot\nExecStart=/bin/false\n");
    outcome = converge(R"({"name": "no"})");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message == "no did not start: failed/exit-code");
  }

  TEST_CASE("linux.service shows no more than the last 20 lines of a journal") {
    const Unit web("web.service",
                   "ExecStart=/bin/sh -c 'for i in $(seq 100 199); do echo line $$i; done; exit 1'\n");
    const auto outcome = converge(R"({"name": "web"})");
    CHECK_FALSE(outcome.ok);
    CHECK(contains(outcome.output, "line 199"));
    CHECK_FALSE(contains(outcome.output, "line 100"));
    CHECK(std::ranges::count(outcome.output, '\n') < 20);
  }

  TEST_CASE("linux.service fails for units that are missing, masked, broken or cannot be") {
    CHECK(converge(R"({"name": "nowhere"})").message == "Service nowhere does not exist on this host");
    REQUIRE(shell("ln -s /dev/null /run/systemd/system/hidden.service"));
    CHECK(converge(R"({"name": "hidden"})").message == "Service hidden is masked");
    std::filesystem::remove("/run/systemd/system/hidden.service");
    const Unit broken("broken.service", "ExecStart=not-absolute/x\n");
    const auto outcome = converge(R"({"name": "broken"})");
    CHECK(outcome.first == Verdict::fail);
    CHECK(outcome.message.starts_with("Service broken cannot be loaded: "));
    const auto impossible = converge(R"({"name": "no*such"})");
    CHECK(impossible.first == Verdict::fail);
    CHECK(contains(impossible.message, "no*such"));
  }

  TEST_CASE("linux.service takes a masked unit for unknown when an earlier state changes its file") {
    REQUIRE(shell("ln -s /dev/null /run/systemd/system/hidden.service"));
    StateHarness machine{StateHarness::RunningSystem{}};
    machine.overlay().add(
        "unmask",
        {{.kind = states::EffectKind::file, .name = "/run/systemd/system/hidden.service", .present = false}});
    const auto plan = machine.plan(kState, R"({"name": "hidden"})");
    CHECK(plan.verdict == Verdict::unknown);
    CHECK(plan.depends_on == "unmask");
    std::filesystem::remove("/run/systemd/system/hidden.service");
  }

  TEST_CASE("linux.service plans a unit whose file an earlier state changes as it is now") {
    const Unit web("web.service", kPlain);
    StateHarness machine{StateHarness::RunningSystem{}};
    machine.overlay().add("unit",
                          {{.kind = states::EffectKind::file, .name = "/run/systemd/system/web.service"}});
    CHECK(machine.plan(kState, R"({"name": "web"})").verdict == Verdict::change);
  }

  TEST_CASE("linux.service takes a oneshot unit that remains for running, and explains one that does not") {
    const Unit once("once.service", "Type=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n");
    CHECK(converge(R"({"name": "once"})").message == "once started");
    CHECK(converge(R"({"name": "once"})").first == Verdict::kept);
    const Unit gone("gone.service", "Type=oneshot\nExecStart=/bin/true\n");
    const auto outcome = converge(R"({"name": "gone"})");
    CHECK_FALSE(outcome.ok);
    CHECK(
        outcome.message ==
        "gone did not start: inactive/success (a oneshot unit without RemainAfterExit=yes is never running)");
  }

  TEST_CASE("linux.service waits for a unit that takes its time to start") {
    const Unit slow("slow.service", "ExecStartPre=/bin/sleep 3\nExecStart=/bin/sleep infinity\n");
    SUBCASE("which it starts itself") {
      const auto outcome = converge(R"({"name": "slow"})");
      CHECK(outcome.ok);
      CHECK(outcome.message == "slow started");
    }
    SUBCASE("which somebody else has just started") {
      REQUIRE(shell("systemctl start --no-block slow"));
      while (!shell("systemctl show -p ActiveState slow | grep -q activating"))
        ::usleep(10'000);
      const auto outcome = converge(R"({"name": "slow"})");
      CHECK(outcome.first == Verdict::kept);
      CHECK(slow.runs());
    }
  }

  TEST_CASE("linux.service notices a unit that dies right after its start") {
    const Unit web("web.service", "ExecStart=/bin/sh -c 'sleep 1; exit 3'\n");
    const auto outcome = converge(R"({"name": "web"})");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message == "web did not start: failed/exit-code");
  }

  TEST_CASE("linux.service is not content with a unit that systemd restarts again and again") {
    const Unit web("web.service",
                   "ExecStart=/bin/sh -c 'sleep 0.5; exit 3'\nRestart=always\nRestartSec=50ms\n"
                   "[Unit]\nStartLimitIntervalSec=0\n");
    const auto outcome = converge(R"({"name": "web"})");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message.starts_with("web did not start: "));
  }

  TEST_CASE("linux.service acts on units as the value of the pair says when a watched file changed") {
    const struct {
      std::string_view value;
      bool runs;
      std::string_view noted;
      std::string_view message;
    } kTable[] = {
        {"null", true, "run reload ", "web reloaded (changed: /etc/a)"},
        {R"("reload")", true, "run reload ", "web reloaded (changed: /etc/a)"},
        {R"("restart")", true, "run run ", "web restarted (changed: /etc/a)"},
        {R"("echo own >>/run/noted-web.service")", true, "run own ",
         "Action for web executed (changed: /etc/a)"},
        {"null", false, "run ", "web started"},
        {R"("reload")", false, "run ", "web started"},
        {R"("restart")", false, "run ", "web started"},
        {R"("systemctl start web")", false, "run ", "Action for web executed (changed: /etc/a)"},
    };
    for (const auto& row : kTable) {
      CAPTURE(row.value);
      CAPTURE(row.runs);
      const Unit web("web.service", kReloadable);
      if (row.runs) web.start();
      const auto outcome =
          triggered(R"({"name": [{"key": "web", "value": )" + std::string(row.value) + "}]}");
      CHECK(outcome.ok);
      CHECK(outcome.message == row.message);
      CHECK(web.noted() == row.noted);
      CHECK(web.runs());
    }
  }

  TEST_CASE("linux.service restarts what cannot reload only when no action is named") {
    const Unit web("web.service", kPlain);
    web.start();
    CHECK(triggered(R"({"name": "web"})").message == "web restarted (changed: /etc/a)");
    CHECK(web.noted() == "run run ");
    auto outcome = triggered(R"({"name": {"web": "reload"}})");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message.starts_with("web did not reload: "));
    CHECK(contains(outcome.message, "not applicable"));
  }

  TEST_CASE("linux.service never restarts a unit whose reload fails: what runs goes on") {
    // As nginx does it: the configuration is tested first, and a new process could not start with it.
    std::ofstream("/run/web.conf") << "good\n";
    const Unit web(
        "web.service",
        "ExecStartPre=/bin/grep -q good /run/web.conf\n" + std::string(kPlain) +
            "ExecReload=/bin/sh -c 'grep good /run/web.conf || { echo emerg: no good >&2; exit 1; }; "
            "echo reload >>$LOG'\n");
    web.start();
    std::ofstream("/run/web.conf") << "broken\n";
    for (const char* json : {R"({"name": "web"})", R"({"name": {"web": "reload"}})"}) {
      CAPTURE(json);
      StateHarness machine{StateHarness::RunningSystem{}};
      machine.watch_triggered = true;
      CHECK(machine.plan(kState, json).message == "Reload web");
      const auto outcome = triggered(json);
      CHECK_FALSE(outcome.ok);
      CHECK(outcome.message ==
            "web did not reload: job failed (it was not restarted, and still runs as it was)");
      CHECK(contains(outcome.output, "emerg: no good"));
      CHECK(web.runs());
      CHECK(web.noted() == "run ");
    }
    std::ofstream("/run/web.conf") << "good again\n";
    CHECK(triggered(R"({"name": "web"})").message == "web reloaded (changed: /etc/a)");
    CHECK(web.noted() == "run reload ");
    std::filesystem::remove("/run/web.conf");
  }

  TEST_CASE("linux.service leaves alone what has reacted already, and says who has") {
    const Unit good("good.service", kPlain);
    const Unit bad("bad.service", std::string(kPlain) + "ExecReload=/bin/false\n");
    good.start();
    bad.start();
    StateHarness machine{StateHarness::RunningSystem{}};
    machine.watch_triggered = true;
    machine.watch_changed = {"/etc/a"};
    constexpr const char* kBoth = R"({"name": ["good", "bad"]})";
    const auto plan = machine.plan(kState, kBoth);
    CHECK(plan.message == "Restart good (changed: /etc/a); Reload bad (changed: /etc/a)");
    const auto applied = machine.apply(kState, kBoth, plan);
    CHECK_FALSE(applied.ok());
    CHECK(applied.reacted == std::vector<std::string>{"good"});
    machine.watch_reacted = applied.reacted;
    CHECK(machine.plan(kState, kBoth).message == "Reload bad (changed: /etc/a)");
    CHECK_FALSE(machine.converge(kState, kBoth).ok);
    CHECK(good.noted() == "run run ");
  }

  TEST_CASE("linux.service does not restart who has reacted once more because another one takes too long") {
    const Unit good("good.service", kPlain);
    const Unit slow("slow.service", std::string(kPlain) + "ExecStop=/bin/sleep 8\n");
    good.start();
    slow.start();
    StateHarness machine{StateHarness::RunningSystem{}};
    machine.timeout = std::chrono::seconds(3);
    machine.watch_triggered = true;
    machine.watch_changed = {"/etc/a"};
    constexpr const char* kBoth = R"({"name": ["good", "slow"]})";
    const auto applied = machine.apply(kState, kBoth, machine.plan(kState, kBoth));
    CHECK(applied.end == AppliedEnd::timed_out);
    CHECK(applied.reacted == std::vector<std::string>{"good"});
    CHECK(good.noted() == "run run ");
  }

  TEST_CASE("linux.service fails when an action fails, or the service does not run after it") {
    const Unit web("web.service", kPlain);
    web.start();
    auto outcome = triggered(R"({"name": {"web": "echo oh no; exit 5"}})");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message == "Action for web failed (exit 5)");
    CHECK(outcome.output.starts_with("oh no"));
    outcome = triggered(R"({"name": {"web": "systemctl stop web"}})");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message == "web is not running after its action: inactive/success");
  }

  TEST_CASE("linux.service says when a unit does not survive its restart or reload") {
    const Unit web(
        "web.service",
        "ExecStart=/bin/sh -c 'test -e /run/poison && exit 9; echo run >>$LOG; exec sleep infinity'\n"
        "ExecReload=/bin/kill -TERM $MAINPID\n");
    web.start();
    auto outcome = triggered(R"({"name": {"web": "reload"}})");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message == "web is not running after reload: inactive/success");
    web.start();
    std::ofstream("/run/poison") << "";
    outcome = triggered(R"({"name": {"web": "restart"}})");
    std::filesystem::remove("/run/poison");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message == "web is not running after restart: failed/exit-code");
  }

  TEST_CASE("linux.service makes systemd read a unit file that has changed before it acts") {
    const Unit web("web.service", kReloadable);
    web.start();
    web.write("ExecStart=/bin/sh -c 'echo new >>$LOG; exec sleep infinity'\n");
    REQUIRE(shell("systemctl show -p NeedDaemonReload web | grep -q yes"));
    CHECK(converge(R"({"name": "web"})").first == Verdict::kept);
    // The new definition cannot reload: that must be known by then.
    const auto outcome = triggered(R"({"name": "web"})");
    CHECK(outcome.ok);
    CHECK(outcome.message == "web restarted (changed: /etc/a)");
    CHECK(web.noted() == "run new ");
    CHECK(shell("systemctl show -p NeedDaemonReload web | grep -q no"));
  }

  TEST_CASE("linux.service enables, disables and stops units, and then keeps them so") {
    const Unit web("web.service", std::string(kPlain) + "[Install]\nWantedBy=multi-user.target\n");
    const auto is_enabled = [] { return shell("systemctl is-enabled --quiet web"); };
    const auto says = [](const std::string& json) {
      StateHarness machine{StateHarness::RunningSystem{}};
      return machine.plan(kState, json);
    };
    const std::string on = R"({"name": "web", "enabled": true})";
    const std::string off = R"({"name": "web", "enabled": false, "running": false})";
    // What a recipe does not say is left as it is.
    CHECK(converge(R"({"name": "web"})").message == "web started");
    CHECK_FALSE(is_enabled());

    auto plan = says(on);
    CHECK(plan.message == "Enable web");
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].what == "service web at boot");
    CHECK(plan.changes[0].before == "disabled");
    CHECK(plan.changes[0].after == "enabled");
    CHECK_FALSE(is_enabled());
    CHECK(converge(on).message == "web enabled");
    CHECK(is_enabled());
    CHECK(converge(on).message == "web is running, enabled");
    CHECK(converge(R"({"name": "web"})").first == Verdict::kept);

    plan = says(off);
    CHECK(plan.message == "Disable web; Stop web");
    REQUIRE(plan.changes.size() == 2);
    CHECK(plan.changes[1].before == "running");
    CHECK(plan.changes[1].after == "stopped");
    CHECK(web.runs());
    CHECK(converge(off).message == "web disabled, stopped");
    CHECK_FALSE(web.runs());
    CHECK_FALSE(is_enabled());
    CHECK(converge(off).message == "web is not running, disabled");

    // Enabled until the next boot is not enabled, and is taken back as well.
    REQUIRE(shell("systemctl enable --quiet --runtime web"));
    CHECK(says(on).changes.at(0).before == "enabled-runtime");
    CHECK(converge(off).message == "web disabled");
    CHECK_FALSE(is_enabled());
    CHECK(converge(on).message == "web enabled, started");
    REQUIRE(shell("systemctl disable --quiet web"));
    CHECK(web.noted() == "run run ");
  }

  TEST_CASE("linux.service masks and unmasks units, also such as do not exist") {
    const Unit web("web.service", std::string(kPlain) + "[Install]\nWantedBy=multi-user.target\n");
    web.start();
    const std::string masked = R"({"name": "web", "masked": true, "running": false})";
    const std::string back = R"({"name": "web", "masked": false, "enabled": true})";
    CHECK(converge(masked).message == "web stopped, masked");
    CHECK_FALSE(web.runs());
    CHECK(shell("test \"$(systemctl is-enabled web)\" = masked"));
    CHECK(converge(masked).message == "web is not running, masked");
    CHECK(converge(R"({"name": "web", "running": false, "enabled": false})").first == Verdict::kept);
    CHECK(converge(R"({"name": "web"})").message == "Service web is masked");
    CHECK(converge(R"({"name": "web", "enabled": true, "running": false})").message ==
          "Service web is masked");

    StateHarness machine{StateHarness::RunningSystem{}};
    CHECK(machine.plan(kState, back).message == "Unmask web; Enable web; Start web");
    CHECK(converge(back).message == "web unmasked, enabled, started");
    CHECK(web.runs());
    CHECK(converge(back).message == "web is running, enabled");
    REQUIRE(shell("systemctl disable --quiet web"));

    const std::string away = R"({"name": "telnet", "masked": true, "running": false})";
    CHECK(converge(away).message == "telnet masked");
    CHECK(converge(away).first == Verdict::kept);
    CHECK(converge(R"({"name": "telnet", "masked": false, "running": false})").message == "telnet unmasked");
    CHECK_FALSE(
        std::filesystem::exists(std::filesystem::symlink_status("/etc/systemd/system/telnet.service")));
    CHECK(converge(R"({"name": "telnet", "enabled": false, "running": false})").message ==
          "telnet does not exist on this host, so it does not run");

    // A mask that somebody made until the next boot is not enough, and is taken away with the other.
    REQUIRE(shell("systemctl mask --quiet --runtime telnet.service"));
    CHECK(converge(away).message == "telnet masked");
    CHECK(shell("test \"$(systemctl is-enabled telnet)\" = masked"));
    CHECK(converge(away).first == Verdict::kept);
    CHECK(converge(R"({"name": "telnet", "masked": false, "running": false})").message == "telnet unmasked");
    CHECK(shell("test ! -L /run/systemd/system/telnet.service"));
  }

  TEST_CASE("linux.service does not mask away a unit file of the administrator's") {
    std::ofstream("/etc/systemd/system/own.service") << "[Service]\nExecStart=/bin/sleep infinity\n";
    REQUIRE(shell("systemctl daemon-reload"));
    const auto outcome = converge(R"({"name": "own", "masked": true, "running": false})");
    CHECK(outcome.first == Verdict::fail);  // the plan says so, and not only applying it
    CHECK(outcome.message.starts_with("Service own cannot be masked: /etc/systemd/system/own.service is in"));
    CHECK(std::filesystem::is_regular_file("/etc/systemd/system/own.service"));
    std::filesystem::remove("/etc/systemd/system/own.service");
  }

  TEST_CASE("linux.service says why a unit can be neither enabled nor disabled") {
    const Unit fixed("fixed.service", kPlain);
    CHECK(
        converge(R"({"name": "fixed", "enabled": true})").message ==
        "fixed started\n\nService fixed cannot be enabled: it is static: its unit has no [Install] section, "
        "so it starts only when another unit wants it. Give it one (WantedBy=multi-user.target) in its file "
        "or in a drop-in");
    CHECK(fixed.runs());
    // An earlier state of the recipe may do so.
    StateHarness machine{StateHarness::RunningSystem{}};
    machine.overlay().add("unit", {{.kind = states::EffectKind::file,
                                    .name = "/etc/systemd/system/fixed.service.d/install.conf"}});
    const auto later = machine.plan(kState, R"({"name": "fixed", "enabled": true})");
    CHECK(later.verdict == Verdict::unknown);
    CHECK(later.depends_on == "unit");
    CHECK(converge(R"({"name": "fixed", "enabled": false})").message == "fixed is running, static");

    const Unit other("other.service", std::string(kPlain) + "[Install]\nWantedBy=multi-user.target\n");
    const Unit indirect("indirect.service", std::string(kPlain) + "[Install]\nAlso=other.service\n");
    CHECK(contains(converge(R"({"name": "indirect", "enabled": true})").message,
                   "Service indirect cannot be enabled: it is indirect: "));

    REQUIRE(shell("ln -s other.service /run/systemd/system/second-name.service && systemctl daemon-reload"));
    for (const char* wanted : {"true", "false"})
      CHECK(contains(converge(R"({"name": "second-name", "enabled": )" + std::string(wanted) + "}").message,
                     "it is another name of other.service. Say it of that one"));
    std::filesystem::remove("/run/systemd/system/second-name.service");

    REQUIRE(shell("systemd-run --quiet --unit=passing sleep infinity"));
    CHECK(contains(converge(R"({"name": "passing", "enabled": true})").message,
                   "it is transient: it is gone at the next boot"));
    REQUIRE(shell("systemctl stop passing"));
  }

  TEST_CASE("linux.service enables a linked unit if there is a way, and does not disable away its link") {
    shell("mkdir -p /opt/units");
    const std::string plain = "[Service]\n" + std::string(kPlain);
    std::ofstream("/opt/units/able.service") << plain + "[Install]\nWantedBy=multi-user.target\n";
    std::ofstream("/opt/units/unable.service") << plain;
    REQUIRE(shell("systemctl link /opt/units/able.service /opt/units/unable.service"));
    const auto plan = [](const std::string& json) {
      StateHarness machine{StateHarness::RunningSystem{}};
      return machine.plan(kState, json);
    };
    const std::string unable = R"({"name": "unable", "running": false, "enabled": true})";
    CHECK(plan(unable).verdict == Verdict::fail);
    CHECK(contains(plan(unable).message,
                   "Service unable cannot be enabled: it is linked, and its unit has no [Install] section"));
    CHECK(converge(R"({"name": "unable", "running": false, "enabled": false})").first == Verdict::kept);
    // As advised.
    shell("mkdir -p /etc/systemd/system/unable.service.d");
    std::ofstream("/etc/systemd/system/unable.service.d/a.conf") << "[Install]\nWantedBy=multi-user.target\n";
    CHECK(converge(unable).message == "unable enabled");

    const std::string able = R"({"name": "able", "running": false, "enabled": true})";
    CHECK(converge(able).message == "able enabled");
    CHECK(converge(able).first == Verdict::kept);
    const std::string off = R"({"name": "able", "running": false, "enabled": false})";
    CHECK(plan(off).verdict == Verdict::fail);
    CHECK(contains(plan(off).message,
                   "Service able cannot be disabled: /etc/systemd/system/able.service is a link to its file, "
                   "/opt/units/able.service, and systemd would take that away"));
    CHECK(shell("systemctl is-enabled --quiet able"));
    REQUIRE(
        shell("systemctl disable able unable; rm -r /etc/systemd/system/unable.service.d /opt/units; "
              "systemctl daemon-reload"));
  }

  TEST_CASE("linux.service enables an instance of a template, and init scripts beside systemd") {
    const Unit instance("web@.service", std::string(kPlain) + "[Install]\nWantedBy=multi-user.target\n");
    CHECK(converge(R"({"name": "web@1", "enabled": true})").message == "web@1 enabled, started");
    CHECK(converge(R"({"name": "web@1", "enabled": true})").message == "web@1 is running, enabled");
    CHECK(converge(R"({"name": "web@1", "enabled": false, "running": false})").message ==
          "web@1 disabled, stopped");

    std::ofstream("/etc/init.d/old") << "#!/bin/sh\n### BEGIN INIT INFO\n# Provides: old\n# Required-Start:\n"
                                        "# Required-Stop:\n# Default-Start: 2 3 4 5\n# Default-Stop: 0 1 6\n"
                                        "### END INIT INFO\nexit 0\n";
    ::chmod("/etc/init.d/old", 0755);
    REQUIRE(shell("systemctl daemon-reload"));
    const auto started = [] { return shell("ls /etc/rc5.d/S??old >/dev/null 2>&1"); };
    CHECK(contains(converge(R"({"name": "old", "enabled": true})").message, "old enabled"));
    CHECK(started());
    CHECK(contains(converge(R"({"name": "old", "enabled": false})").message, "old disabled"));
    CHECK_FALSE(started());
    CHECK(converge(R"({"name": "old", "enabled": false})").first == Verdict::kept);
    shell("systemctl stop old; update-rc.d -f old remove; rm /etc/init.d/old; systemctl daemon-reload");
  }

  TEST_CASE("linux.service tries all units before it fails") {
    const Unit bad("bad.service", "ExecStart=/bin/false\n");
    const Unit good("good.service", kPlain);
    const Unit kept("kept.service", kPlain);
    kept.start();
    const auto begin = steady_clock::now();
    const auto outcome = converge(R"({"name": ["absent", "bad", "good", "kept"]})");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message ==
          "bad did not start: failed/exit-code\n\ngood started\n\nkept is running\n\n"
          "Service absent does not exist on this host");
    CHECK(good.runs());
    CHECK(steady_clock::now() - begin < std::chrono::seconds(4));
  }

  TEST_CASE("linux.service handles instances of templates and other kinds of units") {
    const Unit instance("web@.service", "ExecStart=/bin/sh -c 'echo %i >>$LOG; exec sleep infinity'\n");
    CHECK(converge(R"({"name": "web@one"})").message == "web@one started");
    CHECK(converge(R"({"name": "web@one"})").first == Verdict::kept);
    CHECK(instance.noted() == "one ");
    REQUIRE(shell("systemctl stop web@one"));

    const Unit task("task.service", "Type=oneshot\nExecStart=/bin/true\n");
    std::ofstream("/run/systemd/system/task.timer") << "[Timer]\nOnCalendar=yearly\n";
    CHECK(converge(R"({"name": "task.timer"})").message == "task.timer started");
    CHECK(converge(R"({"name": "task.timer"})").first == Verdict::kept);
    REQUIRE(shell("systemctl stop task.timer"));
    std::filesystem::remove("/run/systemd/system/task.timer");
  }

  TEST_CASE("linux.service reaches an init script that systemd has not heard of yet") {
    std::ofstream("/etc/init.d/ancient") << "#!/bin/sh\n"
                                            "### BEGIN INIT INFO\n# Provides: ancient\n### END INIT INFO\n"
                                            "echo $1 >>/run/ancient\n"
                                            "test $1 != status || exit 3\n";
    ::chmod("/etc/init.d/ancient", 0755);
    const auto outcome = converge(R"({"name": "ancient"})");
    CHECK(outcome.ok);
    CHECK(outcome.message == "ancient started");
    CHECK(shell("grep -qx start /run/ancient"));
    CHECK(shell("systemctl is-active --quiet ancient"));
    REQUIRE(shell("systemctl stop ancient; rm /etc/init.d/ancient /run/ancient; systemctl daemon-reload"));
  }

  TEST_CASE("linux.service gives up at once when it is cancelled, and when its time is over") {
    const Unit slow("slow.service", "ExecStartPre=/bin/sleep 60\nExecStart=/bin/sleep infinity\n");
    StateHarness machine{StateHarness::RunningSystem{}};
    const auto plan = machine.plan(kState, R"({"name": "slow"})");
    const auto begin = steady_clock::now();
    SUBCASE("cancelled") {
      StopAfter stop(std::chrono::milliseconds(700));
      machine.interrupt = &stop;
      const auto applied = machine.apply(kState, R"({"name": "slow"})", plan);
      CHECK(applied.end == AppliedEnd::cancelled);
      CHECK(applied.comment == "Cancelled while waiting for slow.service");
    }
    SUBCASE("out of time") {
      machine.timeout = std::chrono::seconds(1);
      const auto applied = machine.apply(kState, R"({"name": "slow"})", plan);
      CHECK(applied.end == AppliedEnd::timed_out);
      CHECK(applied.comment == "The state's time was over while waiting for slow.service");
    }
    CHECK(steady_clock::now() - begin < std::chrono::seconds(4));
  }

  TEST_CASE("linux.service goes over the system bus where systemd's own socket is not to be had") {
    const Unit web("web.service", kPlain);
    std::filesystem::rename("/run/systemd/private", "/run/systemd/private.away");
    const auto outcome = converge(R"({"name": "web"})");
    std::filesystem::rename("/run/systemd/private.away", "/run/systemd/private");
    CHECK(outcome.ok);
    CHECK(outcome.message == "web started");
    CHECK(web.runs());
  }

  TEST_CASE("a session with systemd survives that systemd executes itself anew") {
    const Unit web("web.service", kPlain);
    web.start();
    const states::Host host;
    const states::Overlay overlay;
    base::Tree tree;
    base::Accounts accounts;
    base::NoInterrupt none;
    states::Cache cache;
    NobodyWaits waits;
    states::Commands commands(steady_clock::now() + std::chrono::seconds(20), none, {}, {});
    states::Context context{.state_id = "test",
                            .host = host,
                            .tree = tree,
                            .accounts = accounts,
                            .overlay = overlay,
                            .commands = commands,
                            .interrupt = none,
                            .facts = cache,
                            .notes = cache,
                            .waits = waits};
    states::systemd::SystemdSession session;
    REQUIRE(session.properties("web.service", context));
    REQUIRE(shell("systemctl daemon-reexec"));
    const auto again = session.properties("web.service", context);
    REQUIRE(again);
    CHECK(again->active_state == "active");
    CHECK(again->sub_state == "running");
  }

  TEST_CASE("linux.service starts no program for a kept state") {
    const Unit web("web.service", kPlain);
    web.start();
    const auto children = [] {
      rusage usage{};
      ::getrusage(RUSAGE_CHILDREN, &usage);
      return usage.ru_minflt;  // no program runs without a page fault
    };
    StateHarness machine{StateHarness::RunningSystem{}};
    const long before = children();
    CHECK(machine.plan(kState, R"({"name": "web"})").verdict == Verdict::kept);
    CHECK(children() == before);
  }
}
