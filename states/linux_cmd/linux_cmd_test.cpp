#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "base/values/json.hpp"
#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_cmd {
extern const StateType& kState;
}

namespace {

namespace fs = std::filesystem;
using states::AppliedEnd;
using states::EffectKind;
using states::Verdict;
using states::linux_cmd::kState;
using tests::StateHarness;

const bool kNotRoot = ::geteuid() != 0;

// Commands run on the machine itself, but these here write nowhere but in the scratch folder.
struct Machine : StateHarness {
  Machine() : StateHarness(RunningSystem{}) {}

  // The parameters as JSON, with @ for the scratch folder.
  std::string json(std::string text) const {
    for (std::size_t at = 0; (at = text.find('@', at)) != std::string::npos; at += root().size())
      text.replace(at, 1, root());
    return text;
  }
  Outcome run(const std::string& text) { return converge(kState, json(text)); }
  states::Plan plan_of(const std::string& text) { return plan(kState, json(text)); }
};

}  // namespace

TEST_CASE("linux.cmd runs in every round, and reports what the command printed") {
  Machine machine;
  for (int round = 0; round < 2; ++round) {
    const auto outcome = machine.run(R"({"cmd": "echo out; sleep 0.1; echo err >&2; echo x >> @/log"})");
    CHECK(outcome.first == Verdict::change);
    CHECK(outcome.ok);
    CHECK(outcome.message == "Command succeeded");
    CHECK(outcome.output == "out\nerr\n");
  }
  CHECK(machine.read("/log") == "x\nx\n");
}

TEST_CASE("linux.cmd plans without running anything or creating its directory") {
  Machine machine;
  const std::string before = machine.snapshot();
  const auto plan = machine.plan_of(R"({"cmd": "touch @/made"})");
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.message == "Run a command (runs every round)");
  REQUIRE(plan.effects.size() == 1);
  CHECK(plan.effects[0].kind == EffectKind::anything);
  CHECK(machine.snapshot() == before);
}

TEST_CASE("linux.cmd says in a plan in which rounds a command runs") {
  Machine machine;
  machine.write("/there", "");
  const auto says = [&](const std::string& guards) {
    return machine.plan_of(R"({"cmd": "true")" + guards + "}").message;
  };
  CHECK(says("") == "Run a command (runs every round)");
  CHECK(says(R"(, "if-path-absent": "@/made")") ==
        "Run a command (runs until " + machine.root() + "/made exists)");
  CHECK(says(R"(, "if-path-present": "@/there")") == "Run a command (runs while its guards hold)");
  CHECK(says(R"(, "if-path-absent": ["@/a", "@/b"])") == "Run a command (runs while its guards hold)");
  CHECK(says(R"(, "if-path-present": "@/there", "if-path-absent": "@/made")") ==
        "Run a command (runs while its guards hold)");
}

TEST_CASE("linux.cmd shows at most 200 characters of a command, and no half characters") {
  Machine machine;
  std::string text;
  for (int i = 0; i < 150; ++i)
    text += "é";
  const auto plan = machine.plan_of(R"({"cmd": "echo )" + text + R"("})");
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].after.size() < 220);
  CHECK(plan.changes[0].after.ends_with("é…"));
}

TEST_CASE("linux.cmd works in the default directory, which it creates, or in the given one") {
  Machine machine;
  CHECK(machine.run(R"({"cmd": "pwd"})").output == machine.root() + "/state/tmp\n");
  CHECK(machine.mode("/state/tmp") == 0711);
  CHECK(machine.run(R"({"cmd": "pwd", "cwd": "@"})").output == machine.root() + "\n");
  CHECK(machine.run(R"({"cmd": "pwd", "cwd": "@/no"})").message ==
        "Working directory " + machine.root() + "/no does not exist");
  CHECK_FALSE(machine.exists("/no"));
  machine.write("/f", "");
  CHECK(machine.run(R"({"cmd": "pwd", "cwd": "@/f"})").message ==
        "Working directory " + machine.root() + "/f is not a directory");
}

TEST_CASE("linux.cmd fails with the exit status or signal and the last line of the output") {
  Machine machine;
  auto outcome = machine.run(R"({"cmd": "exec >&2; echo first; echo 'the reason'; echo; exit 3"})");
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message == "Command failed (exit 3): the reason");
  CHECK(outcome.output == "first\nthe reason\n\n");
  CHECK(machine.run(R"({"cmd": "exit 1"})").message == "Command failed (exit 1)");
  CHECK(machine.run(R"({"cmd": "kill -9 $$"})").message == "Command failed (signal KILL)");
  outcome = machine.run(R"({"cmd": "no-such-program-at-all"})");
  CHECK(outcome.message.starts_with("Command failed (exit 127): "));
}

TEST_CASE("linux.cmd leaves no progress bars and colours in its output") {
  Machine machine;
  CHECK(machine.run(R"({"cmd": "printf '10%%\\r100%%\\n\\033[31mred\\033[0m\\n..........\\n'"})").output ==
        "100%\nred\n");
}

TEST_CASE("linux.cmd hands the text to the shell as it is, a list line by line") {
  Machine machine;
  CHECK(machine.run(R"({"cmd": "X=1; echo \"$X $$X\" | cut -d' ' -f1"})").output == "1\n");
  CHECK(machine.run(R"({"cmd": ["A=1", "echo $A"]})").output == "1\n");
  CHECK(machine.run(R"({"cmd": "echo ${BASH_VERSION:+bash}", "shell": "/bin/bash"})").output == "bash\n");
  CHECK(machine.run(R"({"cmd": "x", "shell": "/bin/no-such-shell"})").message ==
        "Shell /bin/no-such-shell is not executable");
  machine.write("/plain", "", 0644);
  CHECK(machine.run(R"({"cmd": "x", "shell": "@/plain"})").message ==
        "Shell " + machine.root() + "/plain is not executable");
}

TEST_CASE("linux.cmd takes the environment in every form, and gives a clean one") {
  Machine machine;
  ::setenv("OPSAGENT_TEST_SECRET", "x", 1);
  const char* const forms[] = {
      R"("env": [{"key": "A", "value": "1"}, {"key": "B", "value": 2}, {"key": "", "value": "x"}, {"key": "C"}])",
      R"("env": {"A": "1", "B": 2, "C": null})",
      R"("env": "A=1 B=2 C=")",
      R"("env": ["C", {"key": "A", "value": "1"}, {"key": "B", "value": "2"}, {"key": "C", "value": ""}])",
  };
  for (const char* form : forms)
    CHECK_MESSAGE(machine.run(R"({"cmd": "echo $A $B ${C-unset} ${OPSAGENT_TEST_SECRET-unset}", )" +
                              std::string(form) + "}")
                          .output == "1 2 unset unset\n",
                  form);
  ::unsetenv("OPSAGENT_TEST_SECRET");
  CHECK(machine.run(R"({"cmd": "env | grep -c ^PATH=; echo $PATH", "env": {"PATH": "/bin:/usr/bin"}})")
            .output == "1\n/bin:/usr/bin\n");
  CHECK(machine.run(R"({"cmd": "echo $LC_ALL $TERM", "env": null})").output == "C.UTF-8 dumb\n");
}

TEST_CASE("linux.cmd runs as another user, with its groups and surroundings" * doctest::skip(kNotRoot)) {
  Machine machine;
  const std::string who = R"(, "cmd": "id -un; id -gn; echo $HOME $USER $LOGNAME; echo $SHELL; id -G"})";
  const auto* nobody = machine.accounts().user("nobody");
  REQUIRE(nobody);
  const std::string surroundings = nobody->home + " nobody nobody\n" + nobody->shell + "\n";
  const std::string group = machine.accounts().group_name(nobody->gid);
  CHECK(machine.run(R"({"user": "nobody", "cwd": "/")" + who).output ==
        "nobody\n" + group + "\n" + surroundings + std::to_string(nobody->gid) + "\n");
  CHECK(machine.run(R"({"user": 65534, "cwd": "/", "cmd": "id -un"})").output == "nobody\n");
  CHECK(machine.run(R"({"user": "nobody", "group": "daemon", "cwd": "/", "cmd": "id -gn; id -un"})").output ==
        "daemon\nnobody\n");
  CHECK(machine.run(R"({"group": "daemon", "cwd": "/", "cmd": "id -gn; id -un"})").output ==
        "daemon\nroot\n");
  CHECK(machine.run(R"({"user": "no-such-user", "cmd": "true"})").message ==
        "User 'no-such-user' does not exist");
  CHECK(machine.run(R"({"user": 4123456, "cmd": "true"})").message == "User '4123456' does not exist");
  CHECK(machine.run(R"({"group": "no-such-group", "cmd": "true"})").message ==
        "Group 'no-such-group' does not exist");
}

TEST_CASE("linux.cmd runs only while all its guards hold") {
  Machine machine;
  machine.write("/there", "");
  fs::create_symlink("nowhere", machine.root() + "/dangling");
  const std::string root = machine.root();
  const std::pair<const char*, std::string> rows[] = {
      {R"("if-path-present": "@/there")", ""},
      {R"("if-path-present": ["@/there", "@/no"])", "Skipped: " + root + "/no is missing"},
      {R"("if-path-present": ["@/dangling"])", "Skipped: " + root + "/dangling is missing"},
      {R"("if-path-absent": ["@/no", "@/dangling"])", ""},
      {R"("if-path-absent": ["@/no", "@/there"])", "Skipped: " + root + "/there exists"},
      {R"("if-path-absent": "@/no", "if-path-present": "@/no2")", "Skipped: " + root + "/no2 is missing"},
      {R"("if-path-absent": [], "if-path-present": null)", ""},
      {R"("if-path-absent": "", "if-path-present": [""])", ""},
  };
  for (const auto& [guards, skipped] : rows) {
    const auto outcome = machine.run(R"({"cmd": "true", )" + std::string(guards) + "}");
    CHECK_MESSAGE(outcome.ok, guards);
    CHECK_MESSAGE(outcome.changed == skipped.empty(), guards);
    if (!skipped.empty()) CHECK(outcome.message == skipped);
  }
}

namespace {

// A user's home with links to a folder of root's that he cannot enter.
struct Lured : Machine {
  static constexpr uid_t kUser = 65534;
  Lured() {
    fs::create_directories(root() + "/home");
    fs::create_directories(root() + "/secret/open");
    ::chmod((root() + "/secret").c_str(), 0700);
    ::chown((root() + "/home").c_str(), kUser, kUser);
    link("/home/app", "../secret");
    link("/home/open", "../secret/open");
    write("/home/own/file", "");
    link("/home/current", "own");
  }
  void link(const std::string& path, const char* destination) {
    fs::create_symlink(destination, root() + path);
    ::lchown((root() + path).c_str(), kUser, kUser);
  }
  uid_t owner(const std::string& path) const {
    struct stat st {};
    ::lstat((root() + path).c_str(), &st);
    return st.st_uid;
  }
};

}  // namespace

TEST_CASE("linux.cmd does not work where a user's link leads root" * doctest::skip(kNotRoot)) {
  Lured machine;
  for (const char* folder : {"/home/app", "/home/app/open", "/home/open"}) {
    const auto outcome =
        machine.run(R"({"cmd": "chown -R nobody .", "cwd": "@)" + std::string(folder) + "\"}");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message.starts_with("Working directory: not following the symlink " + machine.root() +
                                      "/home/"));
  }
  CHECK(machine.owner("/secret") == 0);
  CHECK(machine.owner("/secret/open") == 0);
  // Not even one that came to belong to root: it is in his folder.
  ::lchown((machine.root() + "/home/current").c_str(), 0, 0);
  CHECK_FALSE(machine.run(R"({"cmd": "true", "cwd": "@/home/current"})").ok);
  CHECK(machine.run(R"({"cmd": "true", "cwd": "@/home/own"})").ok);
}

TEST_CASE("linux.cmd follows the links of the user that it runs as, where he could go himself" *
          doctest::skip(kNotRoot)) {
  Lured machine;
  const auto run = [&](const char* folder) {
    return machine.run(R"({"cmd": "pwd -P", "user": "nobody", "cwd": "@/home/)" + std::string(folder) +
                       "\"}");
  };
  CHECK(run("current").output == machine.root() + "/home/own\n");
  for (const char* folder : {"app", "open"}) {
    const auto outcome = run(folder);
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message.find("is not accessible to user 65534") != std::string::npos);
  }
}

TEST_CASE("linux.cmd guards are not led astray by a user's links" * doctest::skip(kNotRoot)) {
  Lured machine;
  for (const char* guard : {"present", "absent"}) {
    for (const char* path : {"/home/app/open", "/home/open"}) {
      const std::string name = "if-path-" + std::string(guard);
      const auto outcome =
          machine.run(R"({"cmd": "true", ")" + name + R"(": "@)" + std::string(path) + "\"}");
      CHECK_FALSE(outcome.ok);
      CHECK(outcome.message.starts_with(name + ": not following the symlink "));
    }
  }
}

TEST_CASE("linux.cmd is held back by one guard that decides, whatever cannot be told of another" *
          doctest::skip(kNotRoot)) {
  Lured machine;
  const auto outcome =
      machine.run(R"({"cmd": "true", "if-path-present": ["@/home/open", "@/no-such-file"]})");
  CHECK(outcome.ok);
  CHECK(outcome.message.ends_with("/no-such-file is missing"));
}

TEST_CASE("linux.cmd guards count what earlier states would have done") {
  Machine machine;
  machine.write("/old", "");
  const std::string root = machine.root();
  machine.overlay().add("maker", {{.kind = EffectKind::file, .name = root + "/new"},
                                  {.kind = EffectKind::file, .name = root + "/old", .present = false},
                                  {.kind = EffectKind::directory, .name = root + "/work"},
                                  {.kind = EffectKind::user, .name = "bob"}});
  CHECK(machine.plan_of(R"({"cmd": "x", "if-path-present": "@/new"})").verdict == Verdict::change);
  CHECK(machine.plan_of(R"({"cmd": "x", "if-path-absent": "@/new"})").verdict == Verdict::kept);
  CHECK(machine.plan_of(R"({"cmd": "x", "if-path-present": "@/old"})").verdict == Verdict::kept);
  CHECK(machine.plan_of(R"({"cmd": "x", "if-path-absent": "@/old"})").verdict == Verdict::change);
  CHECK(machine.plan_of(R"({"cmd": "x", "cwd": "@/work", "user": "bob"})").verdict == Verdict::change);
  CHECK(machine.plan_of(R"({"cmd": "x", "cwd": "@/else"})").verdict == Verdict::fail);
  machine.overlay().add("script", {{.kind = EffectKind::anything}});
  for (const char* rest : {R"("if-path-present": "@/else")", R"("cwd": "@/else")", R"("user": "alice")",
                           R"("shell": "@/else")"}) {
    const auto plan = machine.plan_of(R"({"cmd": "x", )" + std::string(rest) + "}");
    CHECK_MESSAGE(plan.verdict == Verdict::unknown, rest);
    CHECK_MESSAGE(plan.depends_on == "script", rest);
  }
  CHECK(machine.plan_of(R"({"cmd": "x", "if-path-present": "@/old"})").verdict == Verdict::kept);
}

TEST_CASE("linux.cmd guards count on nothing that an earlier command may make, or names") {
  Machine machine;
  machine.write("/there/file", "");
  machine.write("/held", "");
  const std::string root = machine.root();
  machine.overlay().add(
      "script", {{.kind = EffectKind::anything, .name = "make install; rm -rf '" + root + "/there'"}});
  for (const char* guard : {R"("if-path-absent": "@/new")", R"("if-path-present": "@/new")",
                            R"("if-path-present": "@/there/file")", R"("if-path-absent": "@/there")"}) {
    const auto plan = machine.plan_of(R"({"cmd": "x", )" + std::string(guard) + "}");
    CHECK_MESSAGE(plan.verdict == Verdict::unknown, guard);
    CHECK_MESSAGE(plan.depends_on == "script", guard);
  }
  // One that holds it back for certain decides.
  CHECK(machine.plan_of(R"({"cmd": "x", "if-path-absent": ["@/new", "@/held"]})").verdict == Verdict::kept);
  CHECK_FALSE(machine.overlay().take_doubt());
  CHECK(machine.plan_of(R"({"cmd": "x", "if-path-present": "@/held"})").verdict == Verdict::change);
}

TEST_CASE("linux.cmd fails in a working directory that an earlier state would have removed or replaced") {
  Machine machine;
  machine.write("/gone/file", "");
  const std::string root = machine.root();
  machine.overlay().add("remover", {{.kind = EffectKind::directory, .name = root + "/gone", .present = false},
                                    {.kind = EffectKind::file, .name = root + "/text"},
                                    {.kind = EffectKind::file, .name = root + "/shell", .present = false}});
  CHECK(machine.plan_of(R"({"cmd": "x", "cwd": "@/gone"})").message ==
        "Working directory " + root + "/gone does not exist");
  CHECK(machine.plan_of(R"({"cmd": "x", "cwd": "@/text"})").message ==
        "Working directory " + root + "/text is not a directory");
  CHECK(machine.plan_of(R"({"cmd": "x", "shell": "@/shell"})").verdict == Verdict::fail);
}

TEST_CASE("linux.cmd fails in a plan where its user may not enter the working directory" *
          doctest::skip(kNotRoot)) {
  Machine machine;
  const std::string root = machine.root();
  fs::permissions(root, fs::perms(0755));
  fs::create_directories(root + "/closed/open");
  fs::permissions(root + "/closed", fs::perms(0700));
  const auto plan = [&](const std::string& folder, const char* user) {
    return machine.plan_of(R"({"cmd": "x", "cwd": "@)" + folder + R"(", "user": ")" + user + "\"}");
  };
  CHECK(plan("/closed/open", "root").verdict == Verdict::change);
  CHECK(plan("/closed/open", "nobody").verdict == Verdict::fail);
  CHECK(plan("/closed/open", "nobody").message.find("is not accessible to user nobody") != std::string::npos);
  machine.overlay().add(
      "maker",
      {{.kind = EffectKind::directory, .name = root + "/made"},
       {.kind = EffectKind::directory, .name = root + "/his", .owner = "nobody", .is_open = false},
       {.kind = EffectKind::directory, .name = root + "/other", .owner = "daemon", .is_open = false}});
  CHECK(plan("/made", "nobody").verdict == Verdict::change);
  CHECK(plan("/his", "nobody").verdict == Verdict::change);
  CHECK(plan("/other", "nobody").verdict == Verdict::unknown);
}

TEST_CASE("linux.cmd runs as a user that an earlier state would create, whose number is known already") {
  Machine machine;
  machine.overlay().add("maker", {{.kind = EffectKind::user, .name = "bob", .alias = "64990"},
                                  {.kind = EffectKind::user, .name = "64990", .alias = "bob"}});
  CHECK(machine.plan_of(R"({"cmd": "x", "user": "bob"})").verdict == Verdict::change);
}

TEST_CASE("linux.cmd ends a command whose time is up, with all that it started") {
  Machine machine;
  const std::string parameter = machine.json(R"({"cmd": "echo begun; (sleep 3; touch @/late) & sleep 30"})");
  machine.timeout = std::chrono::seconds(1);
  const auto applied = machine.apply(kState, parameter, machine.plan(kState, parameter));
  CHECK(applied.end == AppliedEnd::timed_out);
  CHECK(applied.comment == "Timed out after 1 s: /bin/sh");
  CHECK(applied.output == "begun\n");
  ::sleep(3);
  CHECK_FALSE(machine.exists("/late"));
}

TEST_CASE("linux.cmd asks the engine for the time that its parameter names") {
  Machine machine;
  base::Arena arena;
  const auto limit = [&](std::string_view json) {
    std::vector<states::ParamProblem> problems;
    const auto* params =
        kState.read_params(std::get<base::Value>(base::parse_json(json, arena)), arena, problems);
    REQUIRE(params);
    return kState.own_time_limit(*params);
  };
  CHECK_FALSE(limit(R"({"cmd": "true"})").has_value());
  CHECK(limit(R"({"cmd": "true", "timeout": 1800})") == std::chrono::seconds(1800));
}

TEST_CASE("linux.cmd does not wait for a daemon that keeps its output open") {
  Machine machine;
  const auto begin = std::chrono::steady_clock::now();
  const auto outcome = machine.run(R"({"cmd": "sleep 20 & echo $! > @/pid; echo done"})");
  CHECK(outcome.ok);
  CHECK(outcome.output == "done\n");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
  const pid_t daemon = std::stoi(machine.read("/pid"));
  CHECK(::kill(daemon, SIGKILL) == 0);  // was left alone
}

TEST_CASE("linux.cmd says what is wrong with its parameters") {
  Machine machine;
  const std::pair<const char*, const char*> rows[] = {
      {R"({})", "Missing parameter 'cmd'"},
      {R"({"cmd": ""})", "Missing parameter 'cmd'"},
      {R"({"cmd": null})", "Missing parameter 'cmd'"},
      {R"({"cmd": []})", "Missing parameter 'cmd'"},
      {R"({"cmd": {"a": "b"}})", "Parameter 'cmd' must be text"},
      {R"({"cmd": "x", "timeout": "soon"})", "Illegal timeout 'soon'"},
      {R"({"cmd": "x", "timeout": 0})", "Illegal timeout '0'"},
      {R"({"cmd": "x", "timeout": "-5"})", "Illegal timeout '-5'"},
      {R"({"cmd": "x", "shell": "bash"})", "'bash' is not an absolute path"},
      {R"({"cmd": "x", "cwd": "tmp"})", "'tmp' is not an absolute path"},
      {R"({"cmd": "x", "if-path-absent": ["a"]})", "'a' is not an absolute path"},
      {R"({"cmd": "x\u0000y"})", "Illegal cmd: it contains NUL"},
      {R"({"cmd": "x", "env": [{"key": "A=B", "value": "1"}]})", "Illegal value for 'env': 'A=B'"},
      {R"({"cmd": "x", "env": 5})", "Parameter 'env' must be a list of key and value pairs"},
      {R"({"cmd": "x", "timeout": 600, "cwd": "", "user": null, "group": "", "shell": ""})", ""},
  };
  for (const auto& [parameter, problem] : rows)
    CHECK_MESSAGE(machine.problems(kState, parameter) == problem, parameter);
}
