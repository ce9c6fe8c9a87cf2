#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/dnf_machine.hpp"

namespace states::linux_yum_repo {
extern const StateType& kState;
}

TEST_SUITE_BEGIN("system-managers");

TEST_CASE("dnf: a package that brings a repository is installed once, and again when it is newer") {
  using states::linux_yum_repo::kState;
  using namespace tests;
  DnfMachine machine;
  const std::string one = build_rpm({"t-release", "1.0"}, "/srv/files");
  const std::string two = build_rpm({"t-release", "2.0"}, "/srv/files");
  const auto wanted = [](const std::string& file) {
    return R"({"name": "x", "rpm-url": "file://)" + file + "\"}";
  };
  auto outcome = machine.converge(kState, wanted(one));
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(outcome.message == "Repository package t-release (1.0-1) installed");
  CHECK(machine.converge(kState, wanted(one)).first == states::Verdict::kept);
  CHECK(machine.converge(kState, wanted(two)).ok);
  CHECK(DnfMachine::found("t-release") == "2.0-1");
  CHECK(machine.converge(kState, wanted(one)).first == states::Verdict::kept);  // what is newer stays
}

TEST_SUITE_END();
