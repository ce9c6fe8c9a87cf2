#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_symlink {
extern const StateType& kState;
}

namespace {

namespace fs = std::filesystem;
using states::EffectKind;
using states::Verdict;
using states::linux_symlink::kState;
using tests::StateHarness;

constexpr auto kLink = R"({"source": "../no/such/file", "target": "/link"})";

std::string destination(const StateHarness& machine, const std::string& path) {
  return fs::read_symlink(machine.root() + path).string();
}

}  // namespace

TEST_CASE("linux.symlink creates a link exactly as written, dangling or not") {
  StateHarness machine;
  const auto outcome = machine.converge(kState, kLink);
  CHECK(outcome.ok);
  CHECK(outcome.changed);
  CHECK(outcome.message == "Created /link -> ../no/such/file");
  CHECK(destination(machine, "/link") == "../no/such/file");
}

TEST_CASE("linux.symlink keeps a link that is as wanted, and writes nothing") {
  StateHarness machine;
  CHECK(machine.converge(kState, kLink).changed);
  const std::string before = machine.snapshot();
  const auto again = machine.converge(kState, kLink);
  CHECK(again.first == Verdict::kept);
  CHECK(again.message == "/link is as wanted");
  CHECK(machine.snapshot() == before);
}

TEST_CASE("linux.symlink does not replace a link that is on the way to itself") {
  StateHarness machine;
  fs::create_directory(machine.root() + "/d");
  fs::create_symlink(".", machine.root() + "/d/l");
  const auto plan = machine.plan(kState, R"({"source": "x", "target": "/d/l/l"})");
  CHECK(plan.verdict == Verdict::fail);
  CHECK(plan.message == "/d/l/l is the symlink /d/l, which is on the way to it: give the path /d/l instead");
  CHECK(machine.converge(kState, R"({"source": ".", "target": "/d/l/l"})").first == Verdict::kept);
  CHECK(machine.converge(kState, R"({"source": "x", "target": "/d/l"})").ok);
}

TEST_CASE("linux.symlink compares the text of the destination, not where it leads") {
  StateHarness machine;
  machine.write("/f", "");
  fs::create_symlink("f", machine.root() + "/link");
  const std::string before = machine.snapshot();
  const auto plan = machine.plan(kState, R"({"source": "./f", "target": "/link/"})");
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.message == "Update /link (destination f -> ./f)");
  CHECK(machine.snapshot() == before);
  const auto outcome = machine.converge(kState, R"({"source": "./f", "target": "/link/"})");
  CHECK(outcome.ok);
  CHECK(outcome.message == "Updated /link (destination f -> ./f)");
  CHECK(destination(machine, "/link") == "./f");
}

TEST_CASE("linux.symlink sets the owner of the link and not of what it points to" *
          doctest::skip(::geteuid() != 0)) {
  StateHarness machine;
  machine.write("/f", "");
  fs::create_symlink("f", machine.root() + "/link");
  const auto outcome =
      machine.converge(kState, R"({"source": "f", "target": "/link", "user": 12345, "group": "12346"})");
  CHECK(outcome.message == "Updated /link (owner root:root -> 12345:12346)");
  struct stat st {};
  REQUIRE(::lstat((machine.root() + "/link").c_str(), &st) == 0);
  CHECK(st.st_uid == 12345);
  CHECK(st.st_gid == 12346);
  REQUIRE(::lstat((machine.root() + "/f").c_str(), &st) == 0);
  CHECK(st.st_uid == 0);
  // A new destination keeps the owner that is not given.
  CHECK(machine.converge(kState, R"({"source": "g", "target": "/link"})").ok);
  REQUIRE(::lstat((machine.root() + "/link").c_str(), &st) == 0);
  CHECK(st.st_uid == 12345);
}

TEST_CASE("linux.symlink never replaces or removes what is not a link") {
  StateHarness machine;
  machine.write("/link", "precious");
  fs::create_directory(machine.root() + "/d");
  const std::string before = machine.snapshot();
  for (const char* parameter :
       {R"({"source": "x", "target": "/link"})", R"({"target": "/link", "absent": true})"})
    CHECK(machine.converge(kState, parameter).message == "/link exists and is not a symlink");
  CHECK(machine.converge(kState, R"({"target": "/d", "absent": true})").message ==
        "/d exists and is not a symlink");
  CHECK(machine.snapshot() == before);
}

TEST_CASE("linux.symlink removes a link and leaves its destination") {
  StateHarness machine;
  machine.write("/f", "precious");
  fs::create_symlink("f", machine.root() + "/link");
  for (const char* parameter :
       {R"({"target": "/link", "absent": "True"})", R"({"target": "/link", "source": null, "absent": 1})"}) {
    const auto outcome = machine.converge(kState, parameter);
    CHECK(outcome.ok);
    CHECK(outcome.message == (outcome.changed ? "Removed /link" : "/link is already absent"));
  }
  CHECK(machine.read("/f") == "precious");
  CHECK_FALSE(machine.exists("/link"));
}

TEST_CASE("linux.symlink does not create the folder of the link") {
  StateHarness machine;
  CHECK(machine.converge(kState, R"({"source": "x", "target": "/no/link"})").message ==
        "Directory /no does not exist");
  machine.overlay().add("maker", {{.kind = EffectKind::directory, .name = "/no"}});
  CHECK(machine.plan(kState, R"({"source": "x", "target": "/no/link"})").verdict == Verdict::change);
  machine.overlay().add("script", {{.kind = EffectKind::anything}});
  const auto plan = machine.plan(kState, R"({"source": "x", "target": "/other/link"})");
  CHECK(plan.verdict == Verdict::unknown);
  CHECK(plan.depends_on == "script");
}

TEST_CASE("linux.symlink planned after its owner would be created is a change") {
  StateHarness machine;
  CHECK(machine.plan(kState, R"({"source": "x", "target": "/l", "user": "no-such-user"})").message ==
        "User 'no-such-user' does not exist");
  CHECK(machine.plan(kState, R"({"source": "x", "target": "/l", "group": "no-such-group"})").message ==
        "Group 'no-such-group' does not exist");
  machine.overlay().add("maker", {{.kind = EffectKind::user, .name = "bob"}});
  CHECK(machine.plan(kState, R"({"source": "x", "target": "/l", "user": "bob"})").verdict == Verdict::change);
  fs::create_symlink("x", machine.root() + "/l");
  CHECK(machine.plan(kState, R"({"source": "x", "target": "/l", "user": "bob"})").verdict == Verdict::change);
}

TEST_CASE("linux.symlink says what is wrong with its parameters") {
  StateHarness machine;
  const std::pair<const char*, const char*> rows[] = {
      {R"({"source": "x"})", "Missing parameter 'target'"},
      {R"({"target": "/l"})", "Missing parameter 'source'"},
      {R"({"target": "/l", "source": ""})", "Missing parameter 'source'"},
      {R"({"target": "/l", "source": null, "absent": "n"})", "Missing parameter 'source'"},
      {R"({"target": "l", "source": "x"})", "'l' is not an absolute path"},
      {R"({"target": "/", "source": "x"})", "/ exists and is not a symlink"},
      {R"({"target": "/l", "source": ["x"]})", "Parameter 'source' must be a line of text"},
      {R"({"target": "/l", "source": "x", "mode": "0777"})", ""},
      {R"({"target": "/l", "source": "x", "mode": 777, "user": null, "group": "", "absent": ""})", ""},
      {R"({"target": "/l", "absent": "yes"})", ""},
  };
  for (const auto& [parameter, problem] : rows)
    CHECK_MESSAGE(machine.problems(kState, parameter) == problem, parameter);
}

TEST_CASE("linux.symlink fails when its link changes between plan and apply, and works the next time") {
  StateHarness machine;
  const auto fails = [&](const char* parameter, const std::function<void()>& meanwhile, const char* why) {
    const auto plan = machine.plan(kState, parameter);
    REQUIRE(plan.verdict == Verdict::change);
    meanwhile();
    const std::string before = machine.snapshot();
    const auto applied = machine.apply(kState, parameter, plan);
    CHECK_FALSE(applied.ok());
    CHECK_MESSAGE(applied.comment.find(why) != std::string::npos, applied.comment);
    CHECK(machine.snapshot() == before);
  };
  const auto put = [&](const char* to) {
    fs::create_symlink(to, machine.root() + "/new");
    fs::rename(machine.root() + "/new", machine.root() + "/link");
  };
  fails(
      kLink, [&] { put("elsewhere"); }, "something has appeared there");
  CHECK(machine.converge(kState, kLink).ok);
  put("other");
  fails(
      kLink, [&] { put("elsewhere"); }, "something else has its name");
  CHECK(machine.converge(kState, kLink).ok);
  fails(R"({"target": "/link", "absent": true})", [&] { put("elsewhere"); }, "something else has its name");
  if (::geteuid() != 0) return;
  put("../no/such/file");
  fails(R"({"source": "../no/such/file", "target": "/link", "user": "12345"})", [&] { put("elsewhere"); },
        "something else has its name");
}
