// What linux.service makes of its parameters, and of a machine without any service.
#include <doctest/doctest.h>

#include "base/values/json.hpp"
#include "states/linux_service/install_section.hpp"
#include "states/linux_service/service_params.hpp"
#include "states/linux_service/steps.hpp"
#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_service {
extern const StateType& kState;
}

namespace {

using states::EffectKind;
using states::Verdict;
using states::linux_service::kState;
using states::linux_service::Params;
using states::linux_service::Steps;
using tests::StateHarness;

// "a=reload b=" for the services, then the files behind "watch", "watch always" when there is no need of one.
std::string understood(std::string_view json) {
  base::Arena arena;
  const auto value = base::parse_json(json, arena);
  std::vector<states::ParamProblem> problems;
  const auto* const read = kState.read_params(std::get<base::Value>(value), arena, problems);
  if (!read) return problems.at(0).message;
  std::string text;
  for (const states::Pair& service : (states::State<Params, Steps>::values(*read).name))
    text += std::string(service.key) + "=" + std::string(service.value) + " ";
  const states::WatchRequest watch = kState.watch_request(*read);
  CHECK(watch.first_counts);
  if (watch.always) text += "watch always";
  for (const std::string_view path : watch.paths)
    text += "watch " + std::string(path) + " ";
  return text;
}

}  // namespace

TEST_CASE("linux.service understands every way in which recipes name services and files") {
  const struct {
    std::string_view json;
    std::string_view means;
  } kTable[] = {
      {R"({"name": [{"key": "a", "value": "reload"}, {"key": "b", "value": "sh -c 'x y'"}]})",
       "a=reload b=sh -c 'x y' "},
      {R"({"name": [{"key": "a"}, {"key": "b", "value": null}, {"key": "c", "value": ""}]})", "a= b= c= "},
      {R"({"name": [{"value": "reload"}, {"key": ""}, null, {"key": "a"}]})", "a= "},
      {R"({"name": ["a", "b"]})", "a= b= "},
      {R"({"name": "a"})", "a= "},
      {R"({"name": {"a": "restart", "b": null}})", "a=restart b= "},
      {R"({"name": [{"a": "restart"}, "b"]})", "a=restart b= "},
      {R"({"name": "a", "watch": ["/etc/x", "/etc/y"]})", "a= watch /etc/x watch /etc/y "},
      {R"({"name": "a", "watch": "/etc/x"})", "a= watch /etc/x "},
      {R"({"name": "a", "watch": true})", "a= watch always"},
      {R"({"name": "a", "watch": false})", "a= "},
      {R"({"name": "a", "watch": null})", "a= "},
      {R"({"name": "a", "watch": ""})", "a= "},
      {R"({"name": "a", "watch": []})", "a= "},
      {R"({"name": []})", "Parameter 'name' has no usable entry"},
      {R"({"name": [{"key": ""}]})", "Parameter 'name' has no usable entry"},
      {R"({"name": null})", "Missing parameter 'name'"},
      {R"({"watch": true})", "Missing parameter 'name'"},
      {R"({"name": [["a"]]})", "Parameter 'name' must be a list of key and value pairs"},
      {R"({"name": "--now"})", "Illegal value for 'name': '--now'"},
      {R"({"name": "../../tmp/x"})", "Illegal value for 'name': '../../tmp/x'"},
      {R"({"name": "a/b"})", "Illegal value for 'name': 'a/b'"},
      {R"({"name": "a b"})", "Illegal value for 'name': 'a b'"},
      {R"({"name": "a@"})", "'a@' is a template: name an instance of it, such as 'a@1'"},
      {R"({"name": "a@.timer"})", "'a@.timer' is a template: name an instance of it, such as 'a@1'"},
      {R"({"name": "a", "enabled": true, "running": "yes"})", "a= "},
      {R"({"name": "a", "masked": true, "running": false, "enabled": false})", "a= "},
      {R"({"name": "a", "masked": true})",
       "A service that is masked cannot run: with 'masked: true' say 'running: false', too"},
      {R"({"name": "a", "masked": true, "running": false, "enabled": true})",
       "A service that is masked cannot start at boot: 'masked' and 'enabled' are both true"},
      {R"({"name": "a", "running": false, "watch": "/etc/x"})",
       "'watch' is for services that run, and 'running' is false: leave one of them out"},
      {R"({"name": "a", "watch": ["etc/x"]})", "Illegal value for 'watch': 'etc/x'"},
      {R"({"name": "a", "watched": ["/x"]})",
       "Unknown parameter 'watched' of linux.service; did you mean 'watch'?"},
  };
  for (const auto& row : kTable) {
    CAPTURE(row.json);
    CHECK(understood(row.json) == row.means);
  }
}

TEST_CASE("linux.service names all services that do not exist") {
  StateHarness machine;
  const auto plan = machine.plan(kState, R"({"name": ["one", "two"]})");
  CHECK(plan.verdict == Verdict::fail);
  CHECK(plan.message == "Service one does not exist on this host; Service two does not exist on this host");
}

TEST_CASE("linux.service does not take a file that nobody may execute for an init script") {
  StateHarness machine;
  machine.write("/etc/init.d/one", "#!/bin/sh\n", 0644);
  CHECK(machine.plan(kState, R"({"name": "one"})").message == "Service one does not exist on this host");
}

TEST_CASE("linux.service waits for the state that would bring a missing service") {
  const struct {
    std::string_view service;
    states::Effect effect;
  } kTable[] = {
      {"web", {.kind = EffectKind::package, .name = "web-server"}},
      {"web", {.kind = EffectKind::anything}},
      {"web", {.kind = EffectKind::unit, .name = "web"}},
      {"web", {.kind = EffectKind::unit, .name = "web.service"}},
      {"web.service", {.kind = EffectKind::file, .name = "/etc/init.d/web"}},
      {"web", {.kind = EffectKind::file, .name = "/etc/systemd/system/web.service"}},
      {"web", {.kind = EffectKind::link, .name = "/lib/systemd/system/web.service"}},
      {"web@1", {.kind = EffectKind::file, .name = "/etc/systemd/system/web@.service"}},
      {"web.timer", {.kind = EffectKind::file, .name = "/etc/systemd/system/web.timer"}},
  };
  for (const auto& row : kTable) {
    CAPTURE(row.effect.name);
    StateHarness machine;
    machine.overlay().add("earlier", {row.effect});
    const auto plan = machine.plan(kState, R"({"name": [")" + std::string(row.service) + R"("]})");
    CHECK(plan.verdict == Verdict::unknown);
    CHECK(plan.depends_on == "earlier");
    CHECK(plan.message.starts_with("Service " + std::string(row.service) + " does not exist"));
  }
}

TEST_CASE("linux.service fails for a missing service that no earlier state can bring") {
  StateHarness machine;
  machine.overlay().add("earlier", {{.kind = EffectKind::file, .name = "/etc/systemd/system/other.service"},
                                    {.kind = EffectKind::file, .name = "/etc/init.d/web", .present = false},
                                    {.kind = EffectKind::user, .name = "web"}});
  CHECK(machine.plan(kState, R"({"name": "web"})").verdict == Verdict::fail);
}

TEST_CASE("linux.service does not know what it will do when it knows so of one of its services only") {
  StateHarness machine;
  machine.overlay().add("earlier", {{.kind = EffectKind::file, .name = "/etc/init.d/web"}});
  for (const char* name : {R"({"name": ["web", "none"]})", R"({"name": ["none", "web"]})"}) {
    const auto plan = machine.plan(kState, name);
    CHECK(plan.verdict == Verdict::unknown);
    CHECK(plan.depends_on == "earlier");
    CHECK(plan.message ==
          "Service none does not exist on this host; Service web does not exist on this host; an earlier "
          "state may change that");
  }
}

TEST_CASE("linux.service plans without writing anything") {
  StateHarness machine;
  machine.watch_triggered = true;
  const std::string before = machine.snapshot();
  (void)machine.plan(kState, R"({"name": "web", "watch": "/etc/web.conf"})");
  CHECK(machine.snapshot() == before);
}

TEST_CASE("a unit file can be enabled when it says how") {
  using states::linux_service::has_install_section;
  CHECK(has_install_section("[Unit]\n[Service]\nExecStart=/a\n[Install]\nWantedBy=multi-user.target\n"));
  CHECK(has_install_section("[Install]\n# for all\n Alias = other.service\n"));
  CHECK(has_install_section("[Service]\n[Install]\nDefaultInstance=1\nAlso=b.socket"));
  CHECK_FALSE(has_install_section(""));
  CHECK_FALSE(has_install_section("[Service]\nExecStart=/a\n"));
  CHECK_FALSE(has_install_section("[Install]\n"));
  CHECK_FALSE(has_install_section("[Install]\nWantedBy=\n;Also=x\nDefaultInstance=1\n"));
  CHECK_FALSE(has_install_section("[Install]\n[Service]\nWantedBy=multi-user.target\n"));
  CHECK_FALSE(has_install_section("[Service]\nExecStart=/bin/a \\\n[Install]\nWantedBy=b\n"));
}
