#include <sys/stat.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/language_machine.hpp"

namespace states::common_virtualenv {
extern const StateType& kState;
}

TEST_SUITE_BEGIN("system-managers");

namespace {

namespace fs = std::filesystem;
using states::Verdict;
using states::common_virtualenv::kState;
using namespace tests;

// A machine with the real venv, virtualenv and pip; pip asks no index.
struct VirtualenvMachine : LanguageMachine {
  VirtualenvMachine() {
    shell("rm -rf /srv/app /usr/local/lib/python3*/dist-packages/*; chmod 755 /srv");
    use_wheels();
  }
};

std::string json(const std::string& more = {}) {
  return R"({"path": "/srv/app/environment")" + more + "}";
}
const std::string kRequirements = R"(, "requirements-file": "/srv/requirements.txt")";

}  // namespace

TEST_CASE("virtualenv: an environment is made with all folders above it, and kept") {
  VirtualenvMachine machine;
  const auto outcome = machine.converge(kState, json());
  CHECK_MESSAGE(outcome.ok, outcome.message << "\n" << outcome.output);
  const std::string version = shell("python3 -c 'import platform; print(platform.python_version())'");
  CHECK(outcome.message == "Environment /srv/app/environment created (Python " + version + ")");
  CHECK(shell("/srv/app/environment/bin/python -c 'import sys; print(sys.prefix)'") ==
        "/srv/app/environment");
  CHECK(contains(shell("cat /srv/app/environment/pyvenv.cfg"), "include-system-site-packages = false"));
  CHECK(machine.converge(kState, json()).first == Verdict::kept);
  // One whose python is gone is mended.
  fs::remove("/srv/app/environment/bin/python3");
  CHECK(machine.converge(kState, json()).changed);
  CHECK(shell("/srv/app/environment/bin/python -c 'print(1)'") == "1");
}

TEST_CASE("virtualenv: the parameters are honoured: interpreter, system packages, folders with wheels") {
  VirtualenvMachine machine;
  offer_wheel("t_one", "1.0");
  shell("rm -rf '/srv/more wheels'; mv /srv/wheels '/srv/more wheels'; mkdir /srv/wheels");
  put("/srv/requirements.txt", "t-one\n");
  const std::string python = shell("readlink -f /usr/bin/python3");
  const std::string all =
      json(kRequirements + R"(, "python-bin": ")" + python +
           R"(", "system-site-packages": true, "extra-search-dir": ["/srv/more wheels"])");
  const auto outcome = machine.converge(kState, all);
  CHECK_MESSAGE(outcome.ok, outcome.message << "\n" << outcome.output);
  CHECK(contains(shell("cat /srv/app/environment/pyvenv.cfg"), "include-system-site-packages = true"));
  CHECK(contains(outcome.message, "Requirements installed: +t-one==1.0"));
  CHECK(machine.converge(kState, all).first == Verdict::kept);
}

TEST_CASE("virtualenv: requirements are installed once, and again when the file or the packages change") {
  VirtualenvMachine machine;
  offer_wheel("t_one", "1.0");
  offer_wheel("t_one", "2.0");
  put("/srv/requirements.txt", "t-one==1.0\n");
  auto outcome = machine.converge(kState, json(kRequirements));
  CHECK_MESSAGE(outcome.ok, outcome.message << "\n" << outcome.output);
  CHECK(contains(outcome.message, "\n\nRequirements installed: "));
  CHECK(contains(outcome.message, "+t-one==1.0"));
  const auto kept = machine.converge(kState, json(kRequirements));
  CHECK(kept.first == Verdict::kept);
  CHECK(kept.message == "Environment /srv/app/environment exists; requirements already satisfied");
  put("/srv/requirements.txt", "t-one==2.0\n");
  outcome = machine.converge(kState, json(kRequirements));
  CHECK(contains(outcome.message, "Requirements installed: +t-one==2.0 -t-one==1.0"));
  shell("/srv/app/environment/bin/python -m pip uninstall --yes t-one >/dev/null");
  CHECK(
      contains(machine.converge(kState, json(kRequirements)).message, "Requirements installed: +t-one==2.0"));
}

TEST_CASE("virtualenv: a file that refers to others is given to pip in every round") {
  VirtualenvMachine machine;
  offer_wheel("t_one", "1.0");
  put("/srv/requirements.txt", "-r /srv/others.txt\n");
  put("/srv/others.txt", "t-one\n");
  CHECK(machine.converge(kState, json(kRequirements)).ok);
  CHECK(machine.plan(kState, json(kRequirements)).verdict == Verdict::kept);  // in this round
  LanguageMachine next_round;
  const auto outcome = next_round.converge(kState, json(kRequirements));
  CHECK(outcome.ok);
  CHECK(outcome.changed);
  CHECK(outcome.message == "Environment /srv/app/environment exists\n\nRequirements already satisfied");
}

TEST_CASE("virtualenv: what pip cannot do is said, and not remembered") {
  VirtualenvMachine machine;
  put("/srv/requirements.txt", "t-none==1.0\n");
  auto outcome = machine.converge(kState, json(kRequirements));
  CHECK_FALSE(outcome.ok);
  CHECK_MESSAGE(outcome.message.starts_with("pip failed (exit 1): Could not find a version that satisfies"),
                outcome.message);
  CHECK(machine.plan(kState, json(kRequirements)).verdict == Verdict::change);
  put("/etc/pip.conf",
      "[global]\nindex-url = http://user:hidden@127.0.0.1:9/simple\nretries = 1\ntimeout = 1\n");
  outcome = machine.converge(kState, json(kRequirements));
  CHECK_MESSAGE(outcome.message.starts_with("Registry not reachable"), outcome.message);
  CHECK_FALSE(contains(outcome.output, "hidden"));
}

TEST_CASE("virtualenv: an interpreter without venv is taken by virtualenv") {
  VirtualenvMachine machine;
  // Python as others build it: in a folder of its own, without ensurepip.
  const std::string version = shell("python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'");
  shell(
      "rm -rf /opt/python; mkdir -p /opt/python/bin; cp $(readlink -f /usr/bin/python3) "
      "/opt/python/bin/python" +
      version);
  const auto outcome = machine.converge(kState, json(R"(, "python": "/opt/python/bin/python)" + version +
                                                     R"(", "extra-search-dir": ["/srv/wheels"])"));
  CHECK_MESSAGE(outcome.ok, outcome.message << "\n" << outcome.output);
  CHECK(contains(shell("cat /srv/app/environment/pyvenv.cfg"), "virtualenv = "));
}

TEST_CASE("virtualenv: programs of a user's environment run as that user") {
  VirtualenvMachine machine;
  make_bob();
  fs::remove("/srv/who");
  const std::string path = R"({"path": "/home/t-bob/environment")";
  auto outcome = machine.converge(kState, path + "}");
  CHECK_MESSAGE(outcome.ok, outcome.message << "\n" << outcome.output);
  const auto bob = std::stoul(shell("id -u t-bob"));
  struct stat st {};
  REQUIRE(::stat("/home/t-bob/environment/pyvenv.cfg", &st) == 0);
  CHECK(st.st_uid == bob);
  CHECK(machine.converge(kState, path + "}").first == Verdict::kept);
  // He puts another program in the place of python, and waits for root to start it.
  put("/srv/requirements.txt", "t-one\n");
  fs::remove("/home/t-bob/environment/bin/python");
  put("/home/t-bob/environment/bin/python", "#!/bin/sh\nid -u >/srv/who\nexit 1\n", fs::perms(0755));
  shell("chown t-bob: /home/t-bob/environment/bin/python; touch /srv/who; chmod 666 /srv/who");
  CHECK_FALSE(machine.converge(kState, path + kRequirements + "}").ok);
  CHECK(shell("cat /srv/who") == std::to_string(bob));
}

TEST_CASE("virtualenv: what others can write to is not run as root") {
  VirtualenvMachine machine;
  offer_wheel("t_one", "1.0");
  make_bob();
  put("/home/t-bob/requirements.txt", "t-one\n");
  put("/home/t-bob/python3", "#!/bin/sh\ntouch /srv/hacked\n", fs::perms(0755));
  shell("chown -R t-bob: /home/t-bob");
  auto refused = machine.converge(kState, json(R"(, "requirements-file": "/home/t-bob/requirements.txt")"));
  CHECK_FALSE(refused.ok);
  CHECK_MESSAGE(contains(refused.message, "/home/t-bob belongs to uid "), refused.message);
  refused = machine.converge(kState, json(R"(, "python": "/home/t-bob/python3")"));
  CHECK_FALSE(refused.ok);
  put("/srv/requirements.txt", "t-one\n");
  shell("mkdir -p /srv/open; chmod 777 /srv/open");
  refused = machine.converge(kState, json(kRequirements + R"(, "extra-search-dir": ["/srv/open"])"));
  CHECK_MESSAGE(contains(refused.message, "/srv/open can be written to by everybody"), refused.message);
  CHECK_FALSE(fs::exists("/srv/app"));
  CHECK_FALSE(fs::exists("/srv/hacked"));
}

TEST_SUITE_END();
