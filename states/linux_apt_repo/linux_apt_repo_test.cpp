#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_apt_repo {
extern const StateType& kState;
}
namespace states::linux_file {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::linux_apt_repo::kState;
using tests::StateHarness;

constexpr auto kSource = R"({"name": "local", "content": "deb [trusted=yes] file:/srv/repo ./"})";
const std::string kFolder = "/etc/apt/sources.list.d/";
const bool kIsRoot = ::geteuid() == 0;  // files belong to root

}  // namespace

TEST_CASE("linux.apt.repo writes the file with a final newline, owner and mode" * doctest::skip(!kIsRoot)) {
  StateHarness machine;
  const auto outcome = machine.converge(kState, kSource);
  CHECK(outcome.ok);
  CHECK(outcome.changed);
  CHECK(outcome.message == "Repository file /etc/apt/sources.list.d/local.list written");
  CHECK(outcome.output == "@@ -0,0 +1 @@\n+deb [trusted=yes] file:/srv/repo ./\n");
  CHECK(machine.read(kFolder + "local.list") == "deb [trusted=yes] file:/srv/repo ./\n");
  CHECK(machine.mode(kFolder + "local.list") == 0644);
  CHECK(machine.mode("/etc/apt") == 0755);
}

TEST_CASE("linux.apt.repo keeps a file that is as wanted, and writes nothing" * doctest::skip(!kIsRoot)) {
  StateHarness machine;
  CHECK(machine.converge(kState, kSource).changed);
  const std::string before = machine.snapshot();
  const auto again = machine.converge(kState, kSource);
  CHECK(again.first == Verdict::kept);
  CHECK(again.message == "Repository file /etc/apt/sources.list.d/local.list is up to date");
  CHECK(machine.snapshot() == before);
}

namespace {

constexpr auto kOldForm = R"({"name": "web", "content": "deb [trusted=yes] file:/srv/repo ./"})";
constexpr auto kNewForm =
    R"({"name": "web", "content": "Types: deb\nURIs: file:/srv/repo\nSuites: ./\nTrusted: yes\n"})";

}  // namespace

TEST_CASE("linux.apt.repo leaves no file of the other form behind, so that apt has a source once" *
          doctest::skip(!kIsRoot)) {
  StateHarness machine;
  CHECK(machine.converge(kState, kOldForm).changed);
  const auto plan = machine.plan(kState, kNewForm);
  REQUIRE(plan.changes.size() == 2);
  CHECK(plan.message ==
        "Write repository file /etc/apt/sources.list.d/web.sources; remove "
        "/etc/apt/sources.list.d/web.list, which has its older form");
  CHECK(plan.changes[1].what == kFolder + "web.list");
  CHECK(plan.changes[1].diff == "@@ -1 +0,0 @@\n-deb [trusted=yes] file:/srv/repo ./\n");
  CHECK(plan.effects.back().name == kFolder + "web.list");
  CHECK_FALSE(plan.effects.back().present);
  CHECK(machine.converge(kState, kNewForm).ok);
  CHECK(machine.exists(kFolder + "web.sources"));
  CHECK_FALSE(machine.exists(kFolder + "web.list"));
  CHECK(machine.converge(kState, kNewForm).first == Verdict::kept);

  // A run that was killed between the two leaves both.
  machine.write(kFolder + "web.list", "deb [trusted=yes] file:/srv/repo ./\n");
  const auto goes_on = machine.converge(kState, kNewForm);
  CHECK(goes_on.ok);
  CHECK(goes_on.message == "Removed /etc/apt/sources.list.d/web.list");
  // And back.
  CHECK(machine.converge(kState, kOldForm).ok);
  CHECK_FALSE(machine.exists(kFolder + "web.sources"));
}

TEST_CASE("linux.apt.repo leaves a file that another state names, and all others where a suffix is given" *
          doctest::skip(!kIsRoot)) {
  StateHarness machine;
  machine.write(kFolder + "web.list", "# somebody's\n");
  machine.add_to_recipe(states::linux_file::kState,
                        R"({"path": "/etc/apt/sources.list.d/web.list", "content": "# somebody's\n"})");
  CHECK(machine.converge(kState, kNewForm).ok);
  CHECK(machine.read(kFolder + "web.list") == "# somebody's\n");

  StateHarness suffix;
  suffix.write(kFolder + "web.list", "# somebody's\n");
  CHECK(suffix.converge(kState, R"({"name": "web.sources", "content": "Types: deb\n"})").ok);
  CHECK(suffix.exists(kFolder + "web.list"));

  // Two states that share a name keep what they have.
  StateHarness both;
  for (const char* json : {kOldForm, kNewForm})
    both.add_to_recipe(kState, json);
  for (int round = 0; round < 2; ++round)
    for (const char* json : {kOldForm, kNewForm})
      CHECK(both.converge(kState, json).first == (round == 0 ? Verdict::change : Verdict::kept));
}

TEST_CASE("linux.apt.repo plans without writing anything") {
  StateHarness machine;
  const std::string before = machine.snapshot();
  const auto plan = machine.plan(kState, kSource);
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.changes.at(0).before == "absent");
  CHECK(plan.effects.back().name == kFolder + "local.list");
  CHECK(machine.snapshot() == before);
}

TEST_CASE("linux.apt.repo names the file after the form of the text") {
  struct Row {
    const char* json;
    const char* file;
  };
  StateHarness machine;
  for (const Row& row : std::initializer_list<Row>{
           {R"({"name": "a", "content": "deb x y"})", "a.list"},
           {R"({"name": "a.list", "content": "deb x y"})", "a.list"},
           {R"({"name": "a.sources", "content": "deb x y"})", "a.sources"},
           {R"({"name": "a", "content": "Types: deb\nURIs: file:/x\n"})", "a.sources"},
           {R"({"name": "a", "content": "# made by us\n\nTypes: deb\nURIs: file:/x\n"})", "a.sources"},
           {R"({"name": "a", "content": "Enabled: yes\r\ntypes: deb\r\n"})", "a.sources"},
           {R"({"name": "a", "content": "X-Repolib-Name: x\nTypes: deb\n"})", "a.sources"},
           {R"({"name": "a", "content": "# Types: deb\ndeb [arch=amd64] http://x y\n"})", "a.list"},
           {R"({"name": "a", "content": "#deb http://x y\n"})", "a.list"},
           {R"({"name": "a.list", "content": "Types: deb\n"})", "a.list"},
           {R"({"name": "a.b", "content": ""})", "a.b.list"},
           {R"({"name": 7, "content": ""})", "7.list"},
       }) {
    CAPTURE(row.json);
    CHECK(machine.plan(kState, row.json).effects.back().name == kFolder + row.file);
  }
}

TEST_CASE("linux.apt.repo repairs content, mode, owner and a link in its place" * doctest::skip(!kIsRoot)) {
  StateHarness machine;
  const std::string file = kFolder + "local.list";
  const std::string wanted = "deb [trusted=yes] file:/srv/repo ./\n";
  machine.write(file, "deb old\n");
  auto plan = machine.plan(kState, kSource);
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].diff == "@@ -1 +1 @@\n-deb old\n+" + wanted);
  CHECK(machine.converge(kState, kSource).changed);
  CHECK(machine.read(file) == wanted);

  machine.write(file, wanted, 0600);
  CHECK(machine.converge(kState, kSource).changed);
  CHECK(machine.mode(file) == 0644);

  REQUIRE(::chown((machine.root() + file).c_str(), 12345, 12345) == 0);
  CHECK(machine.converge(kState, kSource).changed);
  struct stat st {};
  REQUIRE(::stat((machine.root() + file).c_str(), &st) == 0);
  CHECK(st.st_uid == 0);

  machine.write("/elsewhere", "precious");
  std::filesystem::remove(machine.root() + file);
  std::filesystem::create_symlink("/elsewhere", machine.root() + file);
  CHECK(machine.converge(kState, kSource).changed);
  CHECK(machine.read("/elsewhere") == "precious");
  CHECK(machine.read(file) == wanted);
}

TEST_CASE("linux.apt.repo with an empty content makes an empty file" * doctest::skip(!kIsRoot)) {
  StateHarness machine;
  machine.write(kFolder + "a.list", "x");
  CHECK(machine.converge(kState, R"({"name": "a", "content": ""})").changed);
  CHECK(machine.read(kFolder + "a.list").empty());
}

TEST_CASE("linux.apt.repo shows no diff of addresses with a password") {
  StateHarness machine;
  CHECK(machine.plan(kState, R"({"name": "a", "content": "deb https://me:secret@example.org/x y"})")
            .changes.at(0)
            .diff.empty());
  CHECK_FALSE(machine.plan(kState, R"({"name": "a", "content": "deb https://example.org/@x y"})")
                  .changes.at(0)
                  .diff.empty());
  machine.write(kFolder + "a.list", "deb https://me:secret@example.org/x y\n");
  CHECK(machine.plan(kState, R"({"name": "a", "content": "deb https://example.org/x y"})")
            .changes.at(0)
            .diff.empty());
}

TEST_CASE("linux.apt.repo refuses names that apt would ignore") {
  StateHarness machine;
  for (const char* name : {"a/b", "../x", "a b", "a+b", "ä", ".hidden"}) {
    CAPTURE(name);
    CHECK(machine.problems(kState, R"({"content": "x", "name": ")" + std::string(name) + "\"}") ==
          "Illegal repository name '" + std::string(name) + "'");
  }
  CHECK(machine.problems(kState, R"({"name": "", "content": "x"})") == "Missing parameter 'name'");
  CHECK(machine.problems(kState, R"({"name": "a"})") == "Missing parameter 'content'");
}

TEST_CASE("linux.apt.repo fails where something else is in the way") {
  StateHarness machine;
  std::filesystem::create_directories(machine.root() + kFolder + "local.list");
  CHECK(machine.plan(kState, kSource).message == kFolder + "local.list is a directory");
}

TEST_CASE("linux.apt.repo after another state with the same file is unknown") {
  StateHarness machine;
  machine.overlay().add("other", {{.kind = states::EffectKind::file, .name = kFolder + "local.list"}});
  CHECK(machine.plan(kState, kSource).depends_on == "other");
}
