#include <unistd.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_yum_repo {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::linux_yum_repo::kState;
using tests::StateHarness;

constexpr auto kTools = R"({"name": "tools", "content": "[tools]\nname=Tools"})";
const std::string kFile = "/etc/yum.repos.d/tools.repo";
const bool kIsRoot = ::geteuid() == 0;  // files belong to root

}  // namespace

TEST_CASE("linux.yum.repo writes the file with a final newline, owner and mode, and keeps it" *
          doctest::skip(!kIsRoot)) {
  StateHarness machine;
  const auto outcome = machine.converge(kState, kTools);
  CHECK(outcome.ok);
  CHECK(outcome.message == "Repository file /etc/yum.repos.d/tools.repo written");
  CHECK(outcome.output == "@@ -0,0 +1,2 @@\n+[tools]\n+name=Tools\n");
  CHECK(machine.read(kFile) == "[tools]\nname=Tools\n");
  CHECK(machine.mode(kFile) == 0644);
  const std::string before = machine.snapshot();
  const auto again = machine.converge(kState, kTools);
  CHECK(again.first == Verdict::kept);
  CHECK(again.message == "Repository file /etc/yum.repos.d/tools.repo is up to date");
  CHECK(machine.snapshot() == before);
  machine.write(kFile, "changed", 0600);
  CHECK(machine.converge(kState, kTools).changed);
  CHECK(machine.mode(kFile) == 0644);
}

TEST_CASE("linux.yum.repo plans without writing anything, and shows no password") {
  StateHarness machine;
  const std::string before = machine.snapshot();
  CHECK(machine.plan(kState, kTools).verdict == Verdict::change);
  CHECK(
      machine.plan(kState, R"({"name": "tools.repo", "content": "baseurl=https://me:secret@example.org/x"})")
          .changes.at(0)
          .diff.empty());
  CHECK(machine.snapshot() == before);
}

TEST_CASE("linux.yum.repo appends .repo unless the name has it") {
  StateHarness machine;
  for (const auto& [name, file] :
       {std::pair{"a", "a.repo"}, {"a.repo", "a.repo"}, {"myrepo", "myrepo.repo"}}) {
    CAPTURE(name);
    CHECK(machine.plan(kState, R"({"content": "", "name": ")" + std::string(name) + "\"}")
              .effects.back()
              .name == "/etc/yum.repos.d/" + std::string(file));
  }
}

TEST_CASE("linux.yum.repo says what is wrong when it cannot work") {
  StateHarness machine;
  for (const char* name : {"a/b", "../x", "a b", "ä", ".hidden", "a;b"}) {
    CAPTURE(name);
    CHECK(machine.problems(kState, R"({"content": "x", "name": ")" + std::string(name) + "\"}") ==
          "Illegal repository name '" + std::string(name) + "'");
  }
  CHECK(machine.problems(kState, R"({"name": "a"})") == "Neither 'content' nor 'rpm-url' given");
  CHECK(machine.problems(kState, R"({"name": "a", "rpm-url": "https://example.org/x.rpm"})")
            .starts_with("Cannot download https://example.org/x.rpm: "));
  CHECK(
      machine
          .problems(kState, R"({"name": "a", "content": "x", "rpm_url": "http://x", "rpm-key": "http://y"})")
          .empty());
  CHECK(machine.plan(kState, R"({"name": "a", "rpm-url": "/srv/none.rpm"})").message ==
        "Package file /srv/none.rpm does not exist");
  std::filesystem::create_directories(machine.root() + kFile);
  CHECK(machine.plan(kState, kTools).message == kFile + " is a directory");
  machine.overlay().add("other", {{.kind = states::EffectKind::file, .name = kFile}});
  CHECK(machine.plan(kState, kTools).depends_on == "other");
}
