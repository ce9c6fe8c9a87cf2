// What keeps linux.cmd from running, and what counts as a change.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include <doctest/doctest.h>

#include "base/values/json.hpp"
#include "base/values/redactor.hpp"
#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_cmd {
extern const StateType& kState;
}

namespace {

namespace fs = std::filesystem;
using states::EffectKind;
using states::Plan;
using states::Verdict;
using states::linux_cmd::kState;
using tests::StateHarness;

const bool kIsNotRoot = ::geteuid() != 0;

struct GuardedMachine : StateHarness {
  GuardedMachine() : StateHarness(RunningSystem{}) {}
  // The parameters as JSON, with @ for the scratch folder.
  std::string json(std::string text) const {
    for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; at += root().size())
      text.replace(at, 1, root());
    return text;
  }
  Outcome run(const std::string& text) { return converge(kState, json(text)); }
  Plan plan_of(const std::string& text) { return plan(kState, json(text)); }
};

}  // namespace

TEST_CASE("linux.cmd with creates runs until all of it is there, and says kept from then on") {
  GuardedMachine machine;
  const std::string one = R"({"cmd": "echo run >> @/log; touch @/made", "creates": "@/made"})";
  auto outcome = machine.run(one);
  CHECK(outcome.ok);
  CHECK(outcome.changed);
  outcome = machine.run(one);
  CHECK(outcome.first == Verdict::kept);
  CHECK(outcome.message == "Nothing to do: " + machine.root() + "/made exists");
  CHECK(machine.read("/log") == "run\n");
  const std::string two = R"({"cmd": "touch @/second", "creates": ["@/made", "@/second"]})";
  CHECK(machine.run(two).changed);
  CHECK(machine.run(two).message == "Nothing to do: " + machine.root() + "/made and 1 more exist");
}

TEST_CASE("linux.cmd fails when it succeeds and has not made what it creates") {
  GuardedMachine machine;
  const auto outcome = machine.run(R"({"cmd": "true", "creates": "@/made"})");
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message.starts_with("did not converge: "));
}

TEST_CASE("linux.cmd with removes runs while any of it is there") {
  GuardedMachine machine;
  machine.write("/old", "");
  const std::string text = R"({"cmd": "rm @/old", "removes": ["@/old", "@/older"]})";
  CHECK(machine.plan_of(text).message == "Run a command (runs while its guards hold)");
  CHECK(machine.run(text).changed);
  CHECK(machine.run(text).message == "Nothing to do: " + machine.root() + "/old and 1 more do not exist");
}

TEST_CASE("linux.cmd with unless runs until all of these succeed") {
  GuardedMachine machine;
  const std::string text =
      R"({"cmd": "echo x >> @/log", "unless": ["test -e @/log", "test $(wc -l < @/log) -ge 2"]})";
  CHECK(machine.plan_of(text).message ==
        "Run a command (runs while its guards hold): unless 1 of 2 is not true (exit 1)");
  auto outcome = machine.run(text);
  CHECK_FALSE(outcome.ok);  // it succeeded, and is not done
  outcome = machine.run(text);
  CHECK(outcome.ok);
  CHECK(outcome.changed);
  outcome = machine.run(text);
  CHECK(outcome.first == Verdict::kept);
  CHECK(outcome.message == "Nothing to do: unless is true");
  CHECK(machine.read("/log") == "x\nx\n");
}

TEST_CASE("linux.cmd with only_if runs only if all of these succeed, and says which did not") {
  GuardedMachine machine;
  const auto outcome =
      machine.run(R"({"cmd": "touch @/made", "only_if": ["true", "echo no such thing >&2; exit 7"]})");
  CHECK(outcome.ok);
  CHECK_FALSE(outcome.changed);
  CHECK(outcome.message == "Skipped: only_if 2 of 2 is not true (exit 7: no such thing)");
  CHECK_FALSE(machine.exists("/made"));
  CHECK(machine.plan_of(R"({"cmd": "x", "only_if": "false"})").is_held_back);
  CHECK_FALSE(machine.plan_of(R"({"cmd": "x", "unless": "true"})").is_held_back);
  CHECK(machine.run(R"({"cmd": "touch @/made", "only_if": "true"})").changed);
}

TEST_CASE("linux.cmd guards come to no answer when they are ended, or leave something behind") {
  GuardedMachine machine;
  const std::pair<const char*, const char*> rows[] = {
      {R"({"cmd": "x", "unless": "kill -9 $$"})",
       "unless is neither true nor false: it was ended by signal KILL"},
      {R"({"cmd": "x", "only_if": "sleep 3 >/dev/null 2>&1 &"})",
       "only_if left 1 process running: a guard only looks"},
  };
  for (const auto& [parameter, message] : rows) {
    const auto plan = machine.plan_of(parameter);
    CHECK_MESSAGE(plan.verdict == Verdict::fail, parameter);
    CHECK(plan.message == message);
  }
  machine.timeout = std::chrono::seconds(1);
  const auto begin = std::chrono::steady_clock::now();
  const auto plan = machine.plan_of(R"({"cmd": "x", "unless": "sleep 30"})");
  CHECK(plan.verdict == Verdict::fail);
  CHECK(plan.message.starts_with("unless: Timed out after "));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("linux.cmd guards that print without end cost no memory, and are judged by their status") {
  GuardedMachine machine;
  const auto plan =
      machine.plan_of(R"({"cmd": "x", "only_if": "head -c 50000000 /dev/zero; echo; echo end; exit 4"})");
  CHECK(plan.message == "Skipped: only_if is not true (exit 4: end)");
}

TEST_CASE("linux.cmd guards write nothing, neither in a plan nor in a run") {
  GuardedMachine machine;
  fs::permissions(machine.root(), fs::perms(0777));
  for (const bool plans_only : {true, false}) {
    machine.plans_only = plans_only;
    const auto plan = machine.plan_of(R"({"cmd": "x", "unless": "touch @/written"})");
    CHECK(plan.verdict == Verdict::change);
    CHECK(plan.message.find("Read-only file system") != std::string::npos);
    CHECK_FALSE(machine.exists("/written"));
  }
  // Nor do they get out of their view.
  CHECK(
      machine.plan_of(R"({"cmd": "x", "unless": "mount -o remount,rw / 2>&1 || touch @/written"})").verdict ==
      Verdict::change);
  CHECK_FALSE(machine.exists("/written"));
  CHECK_FALSE(machine.exists("/state"));
}

TEST_CASE("linux.cmd guards see the network only when the recipe says so") {
  GuardedMachine machine;
  // Of a network of their own nothing is up, not even the machine's own address.
  const std::string look = R"({"cmd": "x", "unless": "grep -q '127\\.0\\.0\\.1' /proc/self/net/fib_trie")";
  CHECK(machine.plan_of(look + "}").verdict == Verdict::change);
  CHECK(machine.plan_of(look + R"(, "guard_view": "offline"})").verdict == Verdict::change);
  CHECK(machine.plan_of(look + R"(, "guard_view": "network"})").verdict == Verdict::kept);
  CHECK(machine.plan_of(look + R"(, "guard_view": "all"})").verdict == Verdict::kept);
}

TEST_CASE("linux.cmd guards that may do anything are not asked in a plan") {
  GuardedMachine machine;
  const std::string text = R"({"cmd": "x", "unless": "touch @/written", "guard_view": "all"})";
  machine.plans_only = true;
  const auto plan = machine.plan_of(text);
  CHECK(plan.verdict == Verdict::unknown);
  CHECK(plan.message == "A plan does not ask unless, which may do anything (guard_view: all)");
  CHECK_FALSE(machine.exists("/written"));
  machine.plans_only = false;
  CHECK(machine.plan_of(text).verdict == Verdict::kept);
  CHECK(machine.exists("/written"));
}

TEST_CASE("linux.cmd guards run with the shell, folder, environment and user of the command") {
  GuardedMachine machine;
  fs::permissions(machine.root(), fs::perms(0755));
  fs::create_directories(machine.root() + "/work");
  CHECK(machine
            .plan_of(R"({"cmd": "x", "cwd": "@/work", "env": {"A": "1"}, "shell": "/bin/bash",
                            "unless": "test $PWD = @/work && test $A = 1 && test -n \"$BASH_VERSION\""})")
            .verdict == Verdict::kept);
  if (kIsNotRoot) return;
  CHECK(machine
            .plan_of(R"({"cmd": "x", "user": "nobody", "cwd": "@/work",
                            "unless": "test $(id -un) = nobody && test $USER = nobody"})")
            .verdict == Verdict::kept);
  CHECK(machine.plan_of(R"({"cmd": "x", "unless": "test $(id -u) = 0 && test $HOME = /root"})").verdict ==
        Verdict::kept);
}

TEST_CASE("linux.cmd guards look into its own folder once that is there") {
  GuardedMachine machine;
  const std::string text = R"({"cmd": "touch done", "unless": "test -e done"})";
  CHECK(machine.run(text).changed);
  CHECK(machine.exists("/state/tmp/done"));
  CHECK(machine.run(text).first == Verdict::kept);
}

TEST_CASE("linux.cmd with a goal counts what earlier states would have done") {
  GuardedMachine machine;
  machine.write("/old", "");
  const std::string root = machine.root();
  machine.overlay().add("maker", {{.kind = EffectKind::file, .name = root + "/new"},
                                  {.kind = EffectKind::file, .name = root + "/old", .present = false}});
  CHECK(machine.plan_of(R"({"cmd": "x", "creates": "@/new"})").verdict == Verdict::kept);
  CHECK(machine.plan_of(R"({"cmd": "x", "creates": "@/old"})").verdict == Verdict::change);
  CHECK(machine.plan_of(R"({"cmd": "x", "removes": "@/new"})").verdict == Verdict::change);
  CHECK(machine.plan_of(R"({"cmd": "x", "removes": "@/old"})").verdict == Verdict::kept);
  machine.overlay().add("script", {{.kind = EffectKind::anything, .name = "make"}});
  CHECK(machine.plan_of(R"({"cmd": "x", "creates": "@/else"})").depends_on == "script");
  // One that is missing for certain decides, whatever becomes of the others.
  CHECK(machine.plan_of(R"({"cmd": "x", "creates": ["@/else", "@/old"]})").verdict == Verdict::change);
}

TEST_CASE("linux.cmd does not ask its guards in a plan in which earlier states change something") {
  GuardedMachine machine;
  machine.overlay().add("motd", {{.kind = EffectKind::file, .name = "/etc/motd"}});
  for (const char* guard : {R"("unless": "true")", R"("only_if": "touch @/written; true")"}) {
    const auto plan = machine.plan_of(R"({"cmd": "x", )" + std::string(guard) + "}");
    CHECK_MESSAGE(plan.verdict == Verdict::unknown, guard);
    CHECK(plan.depends_on == "motd");
  }
  CHECK_FALSE(machine.exists("/written"));
  // What a path says for certain needs no asking.
  machine.write("/made", "");
  CHECK(machine.plan_of(R"({"cmd": "x", "creates": "@/made", "unless": "true"})").verdict == Verdict::kept);
}

TEST_CASE("linux.cmd counts as a change what changed_when says") {
  GuardedMachine machine;
  struct Row {
    const char* parameter;
    bool ok;
    bool changed;
  };
  const Row rows[] = {
      {R"({"cmd": "exit 0", "changed_when": 2})", true, false},
      {R"({"cmd": "exit 2", "changed_when": 2})", true, true},
      {R"({"cmd": "exit 2", "changed_when": [0, "2"]})", true, true},
      {R"({"cmd": "exit 0", "changed_when": [0, "2"]})", true, true},
      {R"({"cmd": "exit 3", "changed_when": 2})", false, false},
      {R"({"cmd": "echo 1 row CHANGED", "changed_when": "CHANGED"})", true, true},
      {R"({"cmd": "echo 1 row CHANGED >&2", "changed_when": ["x", "CHANGED"]})", true, true},
      {R"({"cmd": "echo changed", "changed_when": "CHANGED"})", true, false},
      {R"({"cmd": "echo CHANGED; exit 1", "changed_when": "CHANGED"})", false, false},
      {R"({"cmd": "echo CHANGED; exit 5", "changed_when": ["CHANGED", 5]})", true, true},
      {R"({"cmd": "echo .*", "changed_when": "^.*$"})", true, false},
      {R"({"cmd": "echo never", "changed_when": "output: never"})", true, true},
      {R"({"cmd": "echo 2", "changed_when": "output:2"})", true, true},
      {R"({"cmd": "echo x", "changed_when": "never"})", true, false},
      {R"({"cmd": "echo x", "changed_when": "false"})", true, false},
      {R"({"cmd": "exit 1", "changed_when": "never"})", false, false},
      {R"({"cmd": "kill -9 $$", "changed_when": [0, 9, 137]})", false, false},
      {R"({"cmd": "echo x", "changed_when": []})", true, true},
      {R"({"cmd": "printf 'one\\033[31mtwo'", "changed_when": "onetwo"})", true, true},
      // What was not kept may have had it.
      {R"({"cmd": "head -c 1000000 /dev/zero | tr '\\0' x", "changed_when": "CHANGED"})", true, true},
  };
  for (const Row& row : rows) {
    const auto outcome = machine.run(row.parameter);
    CHECK_MESSAGE(outcome.ok == row.ok, row.parameter);
    CHECK_MESSAGE(outcome.changed == row.changed, row.parameter);
  }
  CHECK(machine.plan_of(R"({"cmd": "x", "changed_when": "never"})").effects.empty());
  CHECK(machine.plan_of(R"({"cmd": "x", "changed_when": "never"})").counts == Plan::Counts::never);
  CHECK(machine.plan_of(R"({"cmd": "x", "changed_when": 2})").counts == Plan::Counts::by_outcome);
}

TEST_CASE("linux.cmd takes hostile texts in guards for what they are") {
  GuardedMachine machine;
  fs::permissions(machine.root(), fs::perms(0777));
  const char* const texts[] = {"'; touch @/written; '",
                               "$(touch @/written)",
                               "`touch @/written`",
                               "a\\nb",
                               "--help",
                               "%s%n",
                               "\\u202e/etc/passwd",
                               "-rf /",
                               "é\\ud83d\\ude00"};
  for (const char* text : texts) {
    // As a path it is a name, as a text of the output a text.
    CHECK(machine.plan_of(R"({"cmd": "x", "creates": "@/no/)" + std::string(text) + "\"}").verdict ==
          Verdict::change);
    CHECK(machine.plan_of(R"({"cmd": "x", "removes": "@/no/)" + std::string(text) + "\"}").verdict ==
          Verdict::kept);
    const auto outcome =
        machine.run(R"({"cmd": "true", "changed_when": "output:)" + std::string(text) + "\"}");
    CHECK(outcome.ok);
    CHECK_FALSE(outcome.changed);
    CHECK_FALSE(machine.exists("/written"));
    // As a guard it is a command, which cannot write.
    CHECK(machine.plan_of(R"({"cmd": "x", "unless": ")" + std::string(text) + "\"}").verdict !=
          Verdict::unknown);
    CHECK_FALSE(machine.exists("/written"));
  }
}

TEST_CASE("linux.cmd says what is wrong with its guards") {
  GuardedMachine machine;
  const std::pair<const char*, const char*> rows[] = {
      {R"({"cmd": "x", "creates": "made"})", "'made' is not an absolute path"},
      {R"({"cmd": "x", "removes": ["/a", "b"]})", "'b' is not an absolute path"},
      {R"({"cmd": "x", "creates": "/a", "removes": "/a"})", "'/a' is both in 'creates' and in 'removes'"},
      {R"({"cmd": "x", "creates": {"a": "b"}})",
       "Parameter 'creates' must be a list of texts, not 'a list of pairs'"},
      {R"({"cmd": "x", "unless": "a\u0000b"})", "Parameter 'unless' must not contain NUL"},
      {R"({"cmd": "x", "changed_when": 256})", "Illegal changed_when: '256' is no exit status (0 to 255)"},
      {R"({"cmd": "x", "changed_when": -1})", "Illegal changed_when: '-1' is no exit status (0 to 255)"},
      {R"({"cmd": "x", "changed_when": ["never", 2]})", "Illegal changed_when: 'never' stands alone"},
      {R"({"cmd": "x", "changed_when": "output:  "})", "Illegal changed_when: 'output:' without a text"},
      {R"({"cmd": "x", "creates": [], "unless": null, "only_if": [""], "changed_when": ""})", ""},
  };
  for (const auto& [parameter, problem] : rows) {
    const std::string found = machine.problems(kState, parameter);
    if (std::string(parameter).find("{\"a\"") == std::string::npos)
      CHECK_MESSAGE(found == problem, parameter);
    else
      CHECK(found.starts_with("Parameter 'creates' must be"));
  }
  CHECK(machine.problems(kState, R"({"cmd": "x", "guard_view": "some"})").find("'offline'") !=
        std::string::npos);
}

TEST_CASE("linux.cmd keeps the secrets of its guards out of arguments and messages") {
  GuardedMachine machine;
  machine.sensitive = true;
  // The text of a sensitive guard is not in the shell's arguments, which everybody can read.
  const auto plan = machine.plan_of(
      R"({"cmd": "x", "unless": "tr '\\0' ' ' < /proc/$$/cmdline | grep -q hunter22 && exit 5; echo hunter22; exit 1"})");
  CHECK(plan.message == "Run a command (runs while its guards hold): unless is not true (exit 1)");
  machine.sensitive = false;
  base::Redactor redactor;
  redactor.add("hunter22");
  machine.redactor = &redactor;
  const auto shown = machine.plan_of(
      R"({"cmd": "x", "only_if": "tr '\\0' ' ' < /proc/$$/cmdline | grep -q hunter22 && exit 5; echo hunter22; exit 1"})");
  CHECK(shown.message.find("(exit 1") != std::string::npos);
  CHECK(shown.message.find("hunter22") == std::string::npos);
}

TEST_CASE("linux.cmd can be read again only with a goal") {
  GuardedMachine machine;
  base::Arena arena;
  const auto rereadable = [&](std::string_view json) {
    std::vector<states::ParamProblem> problems;
    const auto* params =
        kState.read_params(std::get<base::Value>(base::parse_json(json, arena)), arena, problems);
    REQUIRE(params);
    return kState.rereadable_with(*params);
  };
  for (const char* json : {R"({"cmd": "x", "creates": "/a"})", R"({"cmd": "x", "removes": "/a"})",
                           R"({"cmd": "x", "unless": "true"})"})
    CHECK_MESSAGE(rereadable(json), json);
  for (const char* json : {R"({"cmd": "x"})", R"({"cmd": "x", "only_if": "true"})",
                           R"({"cmd": "x", "if-path-absent": "/a"})", R"({"cmd": "x", "changed_when": 2})"})
    CHECK_MESSAGE(!rereadable(json), json);
}
