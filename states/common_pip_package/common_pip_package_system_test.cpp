#include <filesystem>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/language_machine.hpp"

namespace states::common_pip_package {
extern const StateType& kState;
}

TEST_SUITE_BEGIN("system-managers");

namespace {

using states::Verdict;
using states::common_pip_package::kState;
using namespace tests;

// A machine with the real pip, and nothing of ours installed.
struct PipMachine : LanguageMachine {
  PipMachine() {
    shell("rm -rf /usr/local/lib/python3*/dist-packages/*");
    use_wheels();
  }
};

// What pip itself says.
std::string pip_version(const std::string& name) {
  return shell("/usr/bin/python3 -I -m pip show " + name + " 2>/dev/null | sed -n 's/^Version: //p'");
}

std::string json(const std::string& key, const std::string& value) {
  return R"({"name": [{"key": ")" + key + R"(", "value": ")" + value + R"("}]})";
}

}  // namespace

TEST_CASE("pip: a package is installed with what it needs, upgraded, downgraded and removed") {
  PipMachine machine;
  offer_wheel("t_one", "1.0");
  offer_wheel("t_one", "1.5", "t_two>=2");
  offer_wheel("t_two", "2.0");
  auto outcome = machine.converge(kState, json("T.One", "1.0"));
  CHECK_MESSAGE(outcome.ok, outcome.message << "\n" << outcome.output);
  CHECK(outcome.message == "Installed: T.One (1.0)");
  CHECK(pip_version("t-one") == "1.0");
  CHECK(machine.converge(kState, json("t-one", "1.0")).first == Verdict::kept);
  CHECK(machine.converge(kState, json("t-one", "installed")).first == Verdict::kept);

  outcome = machine.converge(kState, json("t-one", ">=1.2"));
  CHECK_MESSAGE(outcome.ok, outcome.message << "\n" << outcome.output);
  CHECK(outcome.message == "Upgraded: t-one (1.0 -> 1.5)");
  CHECK(pip_version("t-two") == "2.0");
  CHECK(machine.converge(kState, json("t-one", "<1.2")).message == "Downgraded: t-one (1.5 -> 1.0)");
  CHECK(machine.converge(kState, json("t-one", "removed")).message == "Removed: t-one");
  CHECK(pip_version("t-one").empty());
  CHECK(machine.converge(kState, json("t-one", "removed")).first == Verdict::kept);
}

TEST_CASE("pip: the latest is looked up once in a round") {
  PipMachine machine;
  offer_wheel("t_one", "1.0");
  CHECK(machine.converge(kState, json("t_one", "latest")).message == "Installed: t_one (1.0)");
  CHECK(machine.converge(kState, json("t_one", "latest")).first == Verdict::kept);  // the same round
  offer_wheel("t_one", "1.5");
  LanguageMachine next_round;
  const auto plan = next_round.plan(kState, json("t_one", "latest"));
  CHECK(plan.is_refresh);
  CHECK(plan.message == "Look for a newer version of t_one");
  CHECK(next_round.converge(kState, json("t_one", "latest")).message == "Upgraded: t_one (1.0 -> 1.5)");
  LanguageMachine third_round;
  const auto same = third_round.converge(kState, json("t_one", "latest"));
  CHECK(same.ok);
  CHECK(same.message == "Package t_one is already as wanted");
}

TEST_CASE("pip: one package that cannot be had does not hold up the others, and is named") {
  PipMachine machine;
  offer_wheel("t_one", "1.0");
  const auto outcome = machine.converge(
      kState,
      R"({"name": [{"key": "t-one"}, {"key": "t-none"}, {"key": "t-one-more", "value": "removed"}]})");
  CHECK_FALSE(outcome.ok);
  CHECK_MESSAGE(outcome.message.starts_with("t-none not found: "), outcome.message);
  CHECK(contains(outcome.message, "\nInstalled: t-one (1.0)"));
  CHECK(pip_version("t-one") == "1.0");
  const auto version = machine.converge(kState, json("t-one", "9"));
  CHECK_FALSE(version.ok);
  CHECK_MESSAGE(version.message.starts_with("Version 9 of t-one not found: "), version.message);
  CHECK(contains(version.message, "from versions: 1.0"));
}

TEST_CASE("pip: an index that does not answer is said to be out of reach") {
  PipMachine machine;
  put("/etc/pip.conf",
      "[global]\nindex-url = http://user:hidden@127.0.0.1:9/simple\nretries = 1\ntimeout = 1\n");
  const auto outcome = machine.converge(kState, R"({"name": ["t-one", "t-two"]})");
  CHECK_FALSE(outcome.ok);
  CHECK_MESSAGE(outcome.message.starts_with("Registry not reachable"), outcome.message);
  CHECK_FALSE(contains(outcome.output, "hidden"));
  CHECK_FALSE(contains(outcome.message, "hidden"));
}

TEST_CASE("pip: what was ended half-way is mended") {
  PipMachine machine;
  offer_wheel("t_one", "1.0", "t_two");
  offer_wheel("t_two", "2.0");
  CHECK(machine.converge(kState, json("t-one", "")).ok);
  shell("cd /usr/local/lib/python3*/dist-packages && rm -r t_one.py t_one-1.0.dist-info/RECORD t_two*");
  const auto outcome = machine.converge(kState, json("t-one", "1.0"));
  CHECK_MESSAGE(outcome.ok, outcome.message << "\n" << outcome.output);
  CHECK(shell("python3 -c 'import t_one, t_two; print(t_one.version)'") == "1.0");
}

TEST_CASE("pip: a package of the distribution is not removed, and one of pip's stands before it") {
  PipMachine machine;
  const auto refused = machine.converge(kState, json("wheel", "removed"));
  CHECK(refused.message == "wheel belongs to package python3-wheel, not removed");
  const std::string before = pip_version("wheel");
  offer_wheel("wheel", "99.0");
  const auto outcome = machine.converge(kState, json("wheel", "99.0"));
  CHECK_MESSAGE(outcome.ok, outcome.message << "\n" << outcome.output);
  CHECK(pip_version("wheel") == "99.0");
  shell("rm -rf /usr/local/lib/python3*/dist-packages/wheel*");
  CHECK(pip_version("wheel") == before);
}

TEST_CASE("pip: a plan and a kept state start no program") {
  PipMachine machine;
  offer_wheel("t_one", "1.0");
  CHECK(machine.converge(kState, json("t-one", "")).ok);
  shell(
      "mv /usr/bin/python3 /usr/bin/python3.hidden; ln -s python3.11 /usr/bin/python3; mkdir /srv/bin; "
      "[ ! -e /usr/bin/python3.13 ] || ln -sf python3.13 /usr/bin/python3");
  shell(
      "for p in /usr/bin/python3.1?; do mv $p $p.real; printf '#!/bin/sh\\ntouch /srv/started\\n' >$p; chmod "
      "755 $p; done");
  CHECK(machine.plan(kState, json("t-one", "1.0")).verdict == Verdict::kept);
  CHECK(machine.plan(kState, json("t-one", "2.0")).verdict == Verdict::change);
  CHECK(machine.plan(kState, json("t-one", "latest")).verdict == Verdict::change);
  CHECK_FALSE(std::filesystem::exists("/srv/started"));
  shell("for p in /usr/bin/python3.1?; do mv $p.real $p; done; mv /usr/bin/python3.hidden /usr/bin/python3");
}

TEST_CASE("pip: install_options is accepted, has no effect, and the output says so") {
  PipMachine machine;
  offer_wheel("t_one", "1.0");
  const auto outcome = machine.converge(
      kState, R"({"name": ["t-one"], "install_options": "--prefix=/srv/elsewhere; touch /srv/hacked"})");
  CHECK(outcome.ok);
  CHECK(outcome.output.starts_with("install_options has no effect"));
  CHECK_FALSE(std::filesystem::exists("/srv/elsewhere"));
  CHECK_FALSE(std::filesystem::exists("/srv/hacked"));
}

TEST_CASE("pip: a shim in PATH is not used") {
  PipMachine machine;
  offer_wheel("t_one", "1.0");
  // What a shim in PATH would do.
  put("/usr/local/bin/python3", "#!/bin/sh\ntouch /srv/shim\n", std::filesystem::perms(0755));
  put("/usr/local/bin/pip3", "#!/bin/sh\ntouch /srv/shim\n", std::filesystem::perms(0755));
  const auto outcome = machine.converge(kState, json("t-one", ""));
  std::filesystem::remove("/usr/local/bin/python3");
  std::filesystem::remove("/usr/local/bin/pip3");
  CHECK(outcome.ok);
  CHECK_FALSE(std::filesystem::exists("/srv/shim"));
}

TEST_SUITE_END();
