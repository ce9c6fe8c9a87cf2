#include <sys/stat.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/language_machine.hpp"

namespace states::common_npm_package {
extern const StateType& kState;
}

TEST_SUITE_BEGIN("system-managers");

namespace {

using states::Verdict;
using states::common_npm_package::kState;
using namespace tests;

// A machine with the real npm, a registry, and nothing of it installed.
struct NpmMachine : LanguageMachine {
  NpmMachine() { shell("rm -rf /usr/local/lib/node_modules /srv/application"); }
  NpmRegistry registry;
};

std::string json(const std::string& key, const std::string& value, const std::string& more = {}) {
  return R"({"name": [{"key": ")" + key + R"(", "value": ")" + value + "\"}]" + more + "}";
}

std::string version_of(const std::string& folder, const std::string& name) {
  return shell("node -p \"require('" + folder + "/node_modules/" + name + "')\" 2>/dev/null || true");
}

constexpr auto kGlobal = "/usr/local/lib";
const std::string kPath = R"(, "path": "/srv/application")";

}  // namespace

TEST_CASE("npm: a package is installed for the whole machine, upgraded, downgraded and removed") {
  NpmMachine machine;
  machine.registry.offer("t-one", "1.0.0");
  machine.registry.offer("t-one", "1.2.0");
  auto outcome = machine.converge(kState, json("t-one", "1.0.0"));
  CHECK_MESSAGE(outcome.ok, outcome.message << "\n" << outcome.output);
  CHECK(outcome.message == "Installed: t-one (1.0.0)");
  CHECK(version_of(kGlobal, "t-one") == "1.0.0");
  CHECK(machine.converge(kState, json("t-one", "1.0.0")).first == Verdict::kept);
  CHECK(machine.converge(kState, json("t-one", ">=1.1.0 <2")).message == "Upgraded: t-one (1.0.0 -> 1.2.0)");
  CHECK(machine.converge(kState, json("t-one@1.0.0", "")).message == "Downgraded: t-one (1.2.0 -> 1.0.0)");
  CHECK(machine.converge(kState, json("t-one", "removed")).message == "Removed: t-one");
  CHECK_FALSE(std::filesystem::exists("/usr/local/lib/node_modules/t-one"));
  CHECK(machine.converge(kState, json("t-one", "removed")).first == Verdict::kept);
}

TEST_CASE("npm: a package with a scope goes into a folder, which is made, and stays there beside others") {
  NpmMachine machine;
  machine.registry.offer("@t/one", "1.0.0");
  machine.registry.offer("t-two", "2.0.0");
  auto outcome = machine.converge(kState, json("@t/one", "1.0.0", kPath));
  CHECK_MESSAGE(outcome.ok, outcome.message << "\n" << outcome.output);
  CHECK(version_of("/srv/application", "@t/one") == "1.0.0");
  outcome = machine.converge(kState, json("t-two", "", kPath));
  CHECK_MESSAGE(outcome.ok, outcome.message << "\n" << outcome.output);
  CHECK(version_of("/srv/application", "@t/one") == "1.0.0");
  CHECK(version_of("/srv/application", "t-two") == "2.0.0");
  CHECK(machine.converge(kState, json("@t/one", "", kPath)).first == Verdict::kept);
  CHECK(machine.converge(kState, json("@t/one", "removed", kPath)).ok);
  CHECK(version_of("/srv/application", "t-two") == "2.0.0");
}

TEST_CASE("npm: the latest and tags are looked up once in a round") {
  NpmMachine machine;
  machine.registry.offer("t-one", "1.0.0");
  CHECK(machine.converge(kState, json("t-one", "latest")).message == "Installed: t-one (1.0.0)");
  CHECK(machine.converge(kState, json("t-one", "latest")).first == Verdict::kept);
  machine.registry.offer("t-one", "1.1.0");
  machine.registry.offer("t-one", "2.0.0-rc.1", "next");
  LanguageMachine next_round;
  CHECK(next_round.plan(kState, json("t-one", "latest")).is_refresh);
  CHECK(next_round.converge(kState, json("t-one", "latest")).message == "Upgraded: t-one (1.0.0 -> 1.1.0)");
  auto outcome = next_round.converge(kState, json("t-one", "next"));
  CHECK_MESSAGE(outcome.message == "Upgraded: t-one (1.1.0 -> 2.0.0-rc.1)", outcome.output);
  LanguageMachine third_round;
  CHECK(third_round.converge(kState, json("t-one", "next")).message == "Package t-one is already as wanted");
}

TEST_CASE("npm: one package that cannot be had does not hold up the others, and is named") {
  NpmMachine machine;
  machine.registry.offer("t-one", "1.0.0");
  const auto outcome = machine.converge(kState, R"({"name": ["t-one", "t-none"]})");
  CHECK_FALSE(outcome.ok);
  CHECK_MESSAGE(outcome.message.starts_with("t-none not found"), outcome.message);
  CHECK(contains(outcome.message, "\nInstalled: t-one (1.0.0)"));
  CHECK_MESSAGE(machine.converge(kState, json("t-one", "9.9.9"))
                    .message.starts_with("Version 9.9.9 of t-one not found: "),
                outcome.message);
  const auto tag = machine.converge(kState, json("t-one", "nightly"));
  CHECK_FALSE(tag.ok);
  CHECK_MESSAGE(contains(tag.message, "t-one not found"), tag.message);
}

TEST_CASE("npm: a registry that does not answer is said to be out of reach") {
  NpmMachine machine;
  put("/etc/npmrc", "registry=http://user:hidden@127.0.0.1:9/\nfetch-retries=0\n");
  for (const char* value : {"1.0.0", "latest"}) {
    const auto outcome = machine.converge(kState, json("t-one", value));
    CHECK_FALSE(outcome.ok);
    CHECK_MESSAGE(outcome.message.starts_with("Registry not reachable"), outcome.message << outcome.output);
  }
}

TEST_CASE("npm: in a user's folder npm runs as that user, whatever the folder tells it to run") {
  NpmMachine machine;
  machine.registry.offer("t-one", "1.0.0");
  make_bob();
  std::filesystem::create_directories("/home/t-bob/app");
  // Settings of the folder can make npm run any program.
  put("/home/t-bob/evil", "#!/bin/sh\nid -u >/srv/who\n", std::filesystem::perms(0755));
  put("/home/t-bob/app/.npmrc", "script-shell=/home/t-bob/evil\nignore-scripts=false\n");
  put("/home/t-bob/app/package.json",
      R"({"name": "app", "version": "1.0.0", "scripts": {"preinstall": "x", "install": "x"}})");
  shell("chown -R t-bob: /home/t-bob; rm -f /srv/who; chmod 777 /srv");
  const std::string path = R"(, "path": "/home/t-bob/app")";
  const auto outcome = machine.converge(kState, json("t-one", "", path));
  shell("chmod 755 /srv");
  CHECK_MESSAGE(outcome.ok, outcome.message << "\n" << outcome.output);
  struct stat st {};
  REQUIRE(::stat("/home/t-bob/app/node_modules/t-one/package.json", &st) == 0);
  CHECK(st.st_uid == std::stoul(shell("id -u t-bob")));
  if (std::filesystem::exists("/srv/who")) CHECK(shell("cat /srv/who") == shell("id -u t-bob"));
  // A folder that is still to be made in it is his, too.
  CHECK(machine.converge(kState, json("t-one", "", R"(, "path": "/home/t-bob/new/one")")).ok);
  REQUIRE(::stat("/home/t-bob/new/one", &st) == 0);
  CHECK(st.st_uid == std::stoul(shell("id -u t-bob")));
}

TEST_CASE("npm: where several users can change a folder no program is run in it") {
  NpmMachine machine;
  machine.registry.offer("t-one", "1.0.0");
  shell("mkdir -p /srv/application/inner; chmod 777 /srv/application");
  auto outcome = machine.converge(kState, json("t-one", "", kPath));
  CHECK(outcome.message ==
        "/srv/application can be written to by everybody, so nothing is run in or from /srv/application: "
        "only its "
        "owner, and root, may be able to write there");
  outcome = machine.converge(kState, json("t-one", "", R"(, "path": "/srv/application/inner/more")"));
  CHECK(contains(outcome.message, "/srv/application can be written to by everybody"));
  shell("chmod 755 /srv/application; chown 4242 /srv/application");
  outcome = machine.converge(kState, json("t-one", "", kPath));
  CHECK(contains(outcome.message, "belongs to uid 4242, which is no account of this machine"));
  shell("rm -rf /srv/application; ln -s /etc /srv/application");
  outcome = machine.converge(kState, json("t-one", "", R"(, "path": "/srv/application/passwd")"));
  CHECK_FALSE(outcome.ok);
  CHECK_FALSE(std::filesystem::exists("/etc/node_modules"));
}

TEST_SUITE_END();
