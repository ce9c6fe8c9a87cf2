#include <unistd.h>

#include <doctest/doctest.h>

#include "base/values/redactor.hpp"
#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_cmd {
extern const StateType& kState;
}

namespace {

using states::linux_cmd::kState;
using tests::StateHarness;

// Commands that write nowhere; what they print is the arguments of their shell.
struct Machine : StateHarness {
  Machine() : StateHarness(RunningSystem{}) {}
};

constexpr const char* kShowArguments = R"(tr '\\0' ' ' </proc/$$/cmdline; : hunter22)";

std::string parameter(const std::string& command, const std::string& more = "") {
  return R"({"cmd": ")" + command + "\"" + more + "}";
}

}  // namespace

TEST_CASE("a command of a sensitive state is not among the arguments of its shell") {
  Machine machine;
  CHECK(machine.converge(kState, parameter(kShowArguments)).output.find("hunter22") != std::string::npos);
  machine.sensitive = true;
  const auto outcome = machine.converge(kState, parameter(kShowArguments));
  CHECK(outcome.ok);
  CHECK(outcome.output == "/bin/sh /proc/self/fd/3 ");
}

TEST_CASE("a command with a secret of the recipe in it is not among the arguments of its shell") {
  Machine machine;
  base::Redactor redactor;
  redactor.add("hunter22");
  machine.redactor = &redactor;
  CHECK(machine.converge(kState, parameter(kShowArguments)).output == "/bin/sh /proc/self/fd/3 ");
  CHECK(machine.converge(kState, parameter("tr '\\\\0' ' ' </proc/$$/cmdline")).output.find("-c") !=
        std::string::npos);
}

TEST_CASE("a command that is handed over so behaves as any other, and what it starts does not get it") {
  Machine machine;
  machine.sensitive = true;
  const auto run = [&](const std::string& command, const std::string& more = "") {
    return machine.converge(kState, parameter(command, more));
  };
  CHECK(run("echo one; echo two >&2; exit 3").message == "Command failed (exit 3)");
  CHECK(run("cat; echo empty input").output == "empty input\n");
  CHECK(run("for fd in /proc/self/fd/*; do readlink $fd; done | grep -c memfd || true").output == "0\n");
  CHECK(run("sh -c 'ls /proc/self/fd/3 2>/dev/null | grep memfd' || echo closed").output == "closed\n");
  CHECK(run("#!/bin/sh\\nset -e\\nread x <<E\\nhere\\nE\\necho $x").output == "here\n");
  CHECK(run("nosuchcommand").output.find(": 1: ") != std::string::npos);
  if (::access("/bin/bash", X_OK) == 0)
    CHECK(run("a=(1 2 3); echo ${#a[@]}", R"(, "shell": "/bin/bash")").output == "3\n");
}

TEST_CASE("a command that is handed over so runs as another user" * doctest::skip(::geteuid() != 0)) {
  Machine machine;
  machine.sensitive = true;
  CHECK(machine.converge(kState, parameter("id -un", R"(, "user": "nobody", "cwd": "/")")).output ==
        "nobody\n");
}
