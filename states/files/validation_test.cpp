// What a recipe's `validate` does before new content takes the place of the old. The programs are real ones;
// the files are in a scratch folder of the running system.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_file {
extern const StateType& kState;
}
namespace states::linux_apt_repo {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::linux_file::kState;
using tests::StateHarness;

// The machine itself; its files are named from the scratch folder on.
struct Machine : StateHarness {
  Machine() : StateHarness(RunningSystem{}) { host().state_dir = root() + "/state"; }
  // The parameters of a file in the scratch folder.
  std::string file(const std::string& name, const std::string& content, const std::string& validate) const {
    return R"({"path": ")" + root() + name + R"(", "content": ")" + content + R"(", "validate": )" +
           validate + "}";
  }
  bool has_leftovers() const { return exists("/state/validate"); }
};

}  // namespace

TEST_CASE("of a secret that the validator prints not even a half is shown") {
  Machine machine;
  const std::string secret = "correct-horse-battery-staple";
  base::Redactor redactor;
  redactor.add(secret);
  machine.redactor = &redactor;
  const std::string check = R"(["/bin/sh", "-c", "printf %0190d 0; echo )" + secret + R"(; exit 1 # %s"])";
  const auto refused = machine.converge(kState, machine.file("/f", "new", check));
  CHECK_FALSE(refused.ok);
  CHECK(refused.message.find("000***") != std::string::npos);
  CHECK(refused.message.find("correct") == std::string::npos);
}

TEST_CASE("content that its validator refuses is not written, and the error says why") {
  Machine machine;
  machine.write("/f", "old good\n");
  const std::string check = R"(["/bin/sh", "-c", "grep -q good %s || { echo %s:1: no good; exit 3; }"])";
  const auto refused = machine.converge(kState, machine.file("/f", "bad", check));
  CHECK_FALSE(refused.ok);
  CHECK(refused.message == "/bin/sh refused the new content of " + machine.root() +
                               "/f (exit 3), which was not changed: " + machine.root() + "/f:1: no good");
  CHECK(refused.output == machine.root() + "/f:1: no good\n");
  CHECK(machine.read("/f") == "old good\n");
  CHECK_FALSE(machine.has_leftovers());

  const auto new_file = machine.converge(kState, machine.file("/sub/g", "bad", check));
  CHECK_FALSE(new_file.ok);
  CHECK_FALSE(machine.exists("/sub"));

  const auto accepted = machine.converge(kState, machine.file("/f", "new good", check));
  CHECK_MESSAGE(accepted.ok, accepted.message);
  CHECK(machine.read("/f") == "new good");
  CHECK_FALSE(machine.has_leftovers());
  CHECK(machine.converge(kState, machine.file("/f", "new good", "\"false %s\"")).first == Verdict::kept);
}

TEST_CASE("a plan says how content will be validated, and does not run it") {
  Machine machine;
  machine.write("/f", "old");
  const std::string parameter =
      machine.file("/f", "new", R"(["/bin/sh", "-c", "touch )" + machine.root() + R"(/ran; test -f %s"])");
  const std::string before = machine.snapshot();
  const auto plan = machine.plan(kState, parameter);
  CHECK(plan.verdict == Verdict::change);
  REQUIRE(plan.changes.size() == 2);
  CHECK(plan.changes[1].what == "validation of " + machine.root() + "/f");
  CHECK(plan.changes[1].after.starts_with("by /bin/sh -c touch"));
  CHECK(machine.snapshot() == before);
  CHECK(machine.converge(kState, parameter).ok);
  CHECK(machine.exists("/ran"));
}

TEST_CASE("a validator gets a file for root only, with the name of the one that is written") {
  Machine machine;
  const std::string check = R"(["/bin/sh", "-c", "stat -c '%a %U' %s > )" + machine.root() +
                            R"(/seen; stat -c %a $(dirname %s) >> )" + machine.root() +
                            R"(/seen; basename %s >> )" + machine.root() + R"(/seen"])";
  CHECK(machine.converge(kState, machine.file("/web.service", "x", check)).ok);
  const std::string seen = machine.read("/seen");
  CHECK(seen.starts_with("600 "));
  CHECK(seen.ends_with("\n700\nweb.service\n"));
  CHECK_FALSE(machine.has_leftovers());
  CHECK(machine.converge(kState, machine.file("/$(touch x) y", "x", check)).ok);
  CHECK(machine.read("/seen").ends_with("\n__touch_x__y\n"));
}

TEST_CASE("what a killed run has left of a validation goes with the next one") {
  Machine machine;
  machine.write("/state/validate/old-secret", "secret");
  CHECK(machine.converge(kState, machine.file("/f", "x", "\"test -f %s\"")).ok);
  CHECK_FALSE(machine.has_leftovers());
}

TEST_CASE("a validator that does not end is ended, and nothing is changed") {
  Machine machine;
  machine.write("/f", "old");
  machine.timeout = std::chrono::seconds(1);
  const auto outcome =
      machine.converge(kState, machine.file("/f", "new", R"(["sh", "-c", "echo on %s; sleep 60"])"));
  CHECK_FALSE(outcome.ok);
  CHECK_MESSAGE(outcome.message.find("was not validated, and not changed: Timed out after 1 s: sh") !=
                    std::string::npos,
                outcome.message);
  CHECK(machine.read("/f") == "old");
  CHECK_FALSE(machine.has_leftovers());
}

TEST_CASE("the failure of a sensitive state quotes nothing that its validator said") {
  Machine machine;
  machine.sensitive = true;
  const auto outcome =
      machine.converge(kState, machine.file("/f", "hunter2", R"(["sh", "-c", "cat %s; exit 1"])"));
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message.find("hunter2") == std::string::npos);
  CHECK(outcome.message.ends_with("(exit 1), which was not changed"));
}

TEST_CASE("a validator that cannot work is found before anything runs") {
  Machine machine;
  const auto problem = [&](const std::string& validate) {
    return machine.problems(kState, R"({"path": "/f", "content": "x", "validate": )" + validate + "}");
  };
  CHECK(problem(R"("visudo -c")") ==
        "'validate' must have %s where the file with the new content is to be named");
  CHECK(problem(R"("%s")") == "'validate' must begin with a program");
  CHECK(problem(R"("  ")") == "'validate' must begin with a program");
  CHECK(problem(R"("grep -q 'a b' %s")").starts_with("'validate' is not read by a shell: give a list"));
  CHECK(problem(R"(["grep", "-q", "a 'b' $c", "%s"])").empty());
  CHECK(problem(R"("visudo -cf %s")").empty());
  CHECK(machine.problems(kState, R"({"path": "/f", "validate": "test -f %s"})") ==
        "'validate' looks at new content: it needs 'content' or 'remote_uri'");
  const auto missing = machine.plan(kState, machine.file("/f", "x", "\"no-such-program %s\""));
  CHECK(missing.verdict == Verdict::fail);
  CHECK(missing.message ==
        "'no-such-program', which is to validate " + machine.root() + "/f, is not installed");
  StateHarness image;
  const auto elsewhere = image.plan(kState, R"({"path": "/f", "content": "x", "validate": "test -f %s"})");
  CHECK(elsewhere.verdict == Verdict::fail);
  CHECK(elsewhere.message.find("leave it out for --root") != std::string::npos);
}

TEST_CASE("only new content is validated") {
  Machine machine;
  machine.write("/f", "same", 0644);
  const std::string parameter =
      R"({"path": ")" + machine.root() + R"(/f", "content": "same", "mode": "0600", "validate": "false %s"})";
  CHECK(machine.converge(kState, parameter).ok);
  CHECK(machine.mode("/f") == 0600);
}

TEST_SUITE("system") {
  TEST_CASE("visudo keeps a broken sudoers file from being written") {
    StateHarness machine{StateHarness::RunningSystem{}};
    const std::string path = "/etc/sudoers.d/opsagent-test";
    const auto write = [&](const std::string& content) {
      return machine.converge(kState, R"({"path": ")" + path + R"(", "content": ")" + content +
                                          R"(", "mode": "0440", "validate": "visudo -cf %s"})");
    };
    const auto good = write(R"(daemon ALL=(ALL) NOPASSWD: /bin/true\n)");
    CHECK_MESSAGE(good.ok, good.message);
    const auto bad = write(R"(daemon ALL=(ALL NOPASSWD: /bin/true\n)");
    CHECK_FALSE(bad.ok);
    CHECK_MESSAGE(bad.message.starts_with("visudo refused the new content of " + path + " (exit 1)"),
                  bad.message);
    CHECK_MESSAGE(bad.output.find(path + ":1:") != std::string::npos, bad.output);
    struct stat st {};
    REQUIRE(::stat(path.c_str(), &st) == 0);
    CHECK(st.st_size == 37);  // the good one
    std::filesystem::remove(path);
  }

  TEST_CASE("apt keeps a broken list of sources from being written") {
    StateHarness machine{StateHarness::RunningSystem{}};
    const auto write = [&](const std::string& content) {
      return machine.converge(
          states::linux_apt_repo::kState,
          R"({"name": "opsagent-test", "content": ")" + content +
              R"(", "validate": "apt-get indextargets -o Dir::Etc::SourceList=%s -o Dir::Etc::SourceParts=/dev/null"})");
    };
    const std::string path = "/etc/apt/sources.list.d/opsagent-test.list";
    const auto bad = write("deb http://example.invalid");
    CHECK_FALSE(bad.ok);
    CHECK_MESSAGE(bad.message.find("apt-get refused the new content of " + path) != std::string::npos,
                  bad.message);
    CHECK_FALSE(std::filesystem::exists(path));
    const auto good = write("deb http://example.invalid stable main");
    CHECK_MESSAGE(good.ok, good.message);
    std::filesystem::remove(path);
  }
}
