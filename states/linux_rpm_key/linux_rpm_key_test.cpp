#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_rpm_key {
extern const StateType& kState;
}

using states::linux_rpm_key::kState;
using tests::StateHarness;

TEST_CASE("linux.rpm.key says what is wrong when it cannot work") {
  StateHarness machine;
  CHECK(machine.problems(kState, "{}") == "Missing parameter 'path'");
  CHECK(machine.problems(kState, R"({"path": "https://example.org/key"})")
            .starts_with("Cannot download https://example.org/key: "));
  for (const char* path : {"relative", "-x", "/a/../b", "$(id)"}) {
    CAPTURE(path);
    CHECK_FALSE(machine.problems(kState, R"({"path": ")" + std::string(path) + "\"}").empty());
  }
  CHECK(machine.plan(kState, R"({"path": "/srv/none"})").message == "File /srv/none not found");
  machine.overlay().add("other", {{.kind = states::EffectKind::file, .name = "/srv/none"}});
  CHECK(machine.plan(kState, R"({"path": "/srv/none"})").depends_on == "other");
}
