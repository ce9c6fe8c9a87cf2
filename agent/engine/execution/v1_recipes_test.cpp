// Recipes of version 1, as a table: every module of the specification with its parameters, under each of
// their names, in each of the forms in which old recipes write values. Each validates, and its plan can be
// told.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "agent/engine/execution/planner.hpp"
#include "base/host/os_release.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "base/values/redactor.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/worker_bench.hpp"

namespace {

using base::Value;

struct Row {
  const char* module;
  const char* parameter;
};

// Nothing in it is on the machine; plans read it, and no more.
constexpr Row kRows[] = {
    {"meta.comment", R"({"comment":"a remark"})"},
    {"meta.wait", R"({"state":["i-2/db"]})"},
    {"linux.apt.package",
     R"({"name":[{"key":"oa-none","value":"installed"}],"fromrepo":"x","verify_gpg":"y"})"},
    {"linux.apt.package", R"({"name":[{"key":"oa-none","value":"https://127.0.0.1:9/oa-none_1.deb"}]})"},
    {"linux.apt.repo", R"({"name":"oa","content":"deb http://127.0.0.1:9/ x main"})"},
    {"linux.apt.ppa", R"({"name":"ppa:oa/none"})"},
    {"linux.yum.package", R"({"name":[{"key":"oa-none"}],"fromrepo":"x","verify_gpg":"n"})"},
    {"linux.yum.repo", R"({"name":"oa","content":"[oa]\nbaseurl=http://127.0.0.1:9/\n","rpm-key":"x"})"},
    {"linux.rpm.key", R"({"path":"/nowhere/oa.key"})"},
    {"linux.dir",
     R"({"path":["/nowhere/oa"],"mode":"0755","user":"root","group":"root","recursive":"False"})"},
    {"linux.file", R"({"path":"/nowhere/oa.conf","content":"$x $$ @{host.attribute}","mode":"0644"})"},
    {"linux.file", R"({"path":"/nowhere/oa","remote_uri":"https://127.0.0.1:9/x"})"},
    {"linux.symlink", R"({"source":"/nowhere","target":"/nowhere/oa.link","mode":"0777"})"},
    {"linux.service",
     R"({"name":[{"key":"oa-none","value":""}],"watch":["/nowhere/oa"],"actions":["reload"]})"},
    {"linux.supervisord", R"({"config":"/nowhere/oa.conf","name":["oa"],"watch":["/nowhere/oa"]})"},
    {"linux.cmd",
     R"({"cmd":["true","true"],"cwd":"/","user":"root","timeout":60,"env":"A=1 B=2","if-path-absent":["/"]})"},
    {"linux.cmd", R"({"cmd":"true","env":[{"key":"A","value":"1"}],"if-path-present":"/nowhere/oa"})"},
    {"linux.cronjob", R"({"cmd":["/bin/true"],"minute":"random","hour":"random","month":"*","user":"root"})"},
    {"linux.user",
     R"({"username":"oa-none","home":"/home/$username","groups":["oa"],"shell":"/bin/sh","uid":4001})"},
    {"linux.group", R"({"groupname":"oa-none","gid":4001,"system-group":"no"})"},
    {"linux.mount",
     R"({"path":"/nowhere/oa","dev":"tmpfs","filesystem":"tmpfs","opts":["ro"],"dump":0,"pass":0})"},
    {"linux.mkfs", R"({"device":"/dev/oa-none","fstype":"ext4","label":"x"})"},
    {"linux.lvm.pv", R"({"path":["/dev/oa-none"],"force":"n"})"},
    {"linux.lvm.vg", R"({"name":"oa","path":["/dev/oa-none"],"clustered":"n"})"},
    {"linux.lvm.lv", R"({"name":"oa","vg-name":"oa","le-size":"1G"})"},
    {"linux.raid", R"({"device-name":"/dev/md9","level":1,"devices":["/dev/oa-none"]})"},
    {"linux.docker.pulled",
     R"({"repo":"127.0.0.1:9/oa","tag":"1","username":"u","password":"Zaphod-1","email":"e"})"},
    {"linux.docker.built", R"({"tag":"oa","path":"/nowhere/oa"})"},
    {"linux.docker.running",
     R"({"container":"oa","image":"oa","ports":[{"key":"80","value":"8080"}],"binds":[{"key":"/a","value":"/b"}]})"},
    {"linux.docker.pushed", R"({"repository":"127.0.0.1:9/oa","tag":"1","container":"oa"})"},
    {"linux.docker.deploy", R"({"container":"oa","image":"oa","ports":[{"key":"80","value":"8080"}]})"},
    {"linux.puppet.apply", R"({"manifests":["/nowhere/oa.pp"]})"},
    {"linux.puppet.run", R"({"arguments":[{"key":"agent"}]})"},
    {"linux.puppet.agent", R"({"server":"127.0.0.1"})"},
    {"linux.chef.client", R"({"server":"https://127.0.0.1:9"})"},
    {"linux.chef.solo", R"({"config":"/nowhere/oa","override-runlist":"recipe[oa]"})"},
    {"linux.mesos.master",
     R"({"cluster_name":"oa","server_id":1,"master_ip":"127.0.0.1","masters_addresses":[{"key":"127.0.0.1","value":"m1"}]})"},
    {"linux.mesos.slave",
     R"({"masters_addresses":[{"key":"127.0.0.1","value":"m1"}],"attributes":[{"key":"rack","value":"a"}],"slave_ip":"127.0.0.1"})"},
    {"common.archive",
     R"({"source":"https://127.0.0.1:9/x.tar.gz","path":"/nowhere/oa","if-path-absent":["/"]})"},
    {"common.timezone", R"({"name":"Europe/Berlin","use_utc":"True"})"},
    {"common.gem.package", R"({"name":[{"key":"oa-none","value":"1.0"}]})"},
    {"common.npm.package", R"({"name":[{"key":"oa-none","value":""}],"path":"/nowhere/oa"})"},
    {"common.pip.package", R"({"name":[{"key":"oa-none","value":null}]})"},
    {"common.git", R"({"path":"/nowhere/oa","repo":"/nowhere/oa.git","branch":"main","force":false})"},
    {"common.svn", R"({"path":"/nowhere/oa","repo":"file:///nowhere/oa.svn","revision":"HEAD"})"},
    {"common.hg", R"({"path":"/nowhere/oa","repo":"/nowhere/oa.hg","branch":"default"})"},
    {"common.virtualenv", R"({"path":"/nowhere/oa","python":"/usr/bin/python3","system_site_packages":"0"})"},
};

recipe::Loaded load(const std::string& module, const std::string& parameter) {
  const std::string text =
      R"([{"_":"a remark","id":"s","module":")" + module + R"(","parameter":)" + parameter + "}]";
  return recipe::load_text("v1.json", text, tests::engine_registry(), {.compat_v1 = true});
}

std::string what_is_wrong(const recipe::Loaded& loaded) {
  std::string text;
  for (const auto* all : {&loaded.problems, &loaded.warnings})
    for (const recipe::Problem& each : *all)
      text += recipe::describe(each, "v1.json") + "\n";
  return text;
}

const states::StateType* native(std::string_view module) {
  const states::RegistryEntry* entry = tests::engine_registry().find(module);
  return entry ? entry->type : nullptr;
}

// Other ways in which old recipes write the same value.
std::vector<std::string> other_forms(const states::Param& param, const Value& value) {
  std::vector<std::string> forms;
  if (param.wire == states::Wire::boolean && value.as_bool()) {
    for (const char* word : *value.as_bool()
                                ? std::vector<const char*>{R"("y")", R"("YES")", R"("True")", "1", R"("1")"}
                                : std::vector<const char*>{R"("n")", R"("No")", R"("False")", "0", R"("0")"})
      forms.emplace_back(word);
  } else if (param.wire == states::Wire::list && value.is_list() && value.items().size() == 1) {
    forms.push_back(base::to_json(value.items()[0]));
  } else if (param.wire == states::Wire::line && base::parse_integer(value.text())) {
    forms.push_back(base::json_quote(value.text()));
  } else if (param.wire == states::Wire::pairs && value.is_list() && value.items().size() == 1) {
    const Value* key = value.items()[0].find("key");
    const Value* worth = value.items()[0].find("value");
    if (!key) return forms;
    forms.push_back("{" + base::to_json(*key) + ":" + (worth ? base::to_json(*worth) : "null") + "}");
    if (!worth || worth->text().empty())
      for (const std::string& form : std::vector<std::string>{
               "[" + base::to_json(*key) + "]", "[{\"key\":" + base::to_json(*key) + "}]",
               "[{\"key\":" + base::to_json(*key) + ",\"value\":null}]"})
        forms.push_back(form);
  }
  return forms;
}

// The object with one member under another name, or with another value.
std::string with(const Value& object, std::string_view member, std::string_view name,
                 const std::string& value) {
  std::string text = "{";
  for (const base::Member& each : object.members()) {
    const bool is_it = each.key == member;
    text += (text.size() > 1 ? "," : "") + base::json_quote(is_it ? name : each.key) + ":" +
            (is_it && !value.empty() ? value : base::to_json(each.value));
  }
  return text + "}";
}

}  // namespace

TEST_CASE("every module of version 1 validates under each of its names, in each form of its values") {
  std::size_t forms = 0;
  for (const Row& row : kRows) {
    const states::StateType* type = native(row.module);
    if (!type) continue;
    CAPTURE(std::string(row.module));
    CAPTURE(std::string(row.parameter));
    CHECK(what_is_wrong(load(row.module, row.parameter)) == "");
    for (const std::string_view alias : type->aliases())
      if (!alias.empty()) CHECK(what_is_wrong(load(std::string(alias), row.parameter)) == "");
    base::Arena arena;
    const auto parsed = base::parse_json(row.parameter, arena);
    const Value& object = std::get<Value>(parsed);
    for (const base::Member& member : object.members())
      for (const states::Param& param : type->schema()) {
        if (!param.is_called(member.key)) continue;
        for (const std::string_view name : {param.name, param.aliases[0], param.aliases[1]}) {
          if (name.empty()) continue;
          ++forms;
          CHECK(what_is_wrong(load(row.module, with(object, member.key, name, ""))) == "");
        }
        for (const std::string& form : other_forms(param, member.value)) {
          CAPTURE(form);
          ++forms;
          CHECK(what_is_wrong(load(row.module, with(object, member.key, member.key, form))) == "");
        }
      }
  }
  CHECK(forms > 150);
}

TEST_CASE("every native module is in the table of version 1 recipes, or is newer than they are") {
  std::set<std::string_view> there;
  for (const Row& row : kRows)
    there.insert(row.module);
  CHECK(there.size() == 44);
  for (const states::RegistryEntry& entry : states::native_states())
    if (entry.type->name().starts_with("linux.docker") || entry.type->name().starts_with("linux.puppet"))
      CHECK_MESSAGE(there.contains(entry.type->name()), entry.type->name());
}

TEST_CASE("every recipe of version 1 has a plan, and what this agent has no module for fails in its turn") {
  const tests::ScratchFolder scratch;
  states::Host host;
  host.os = base::read_os_release();
  host.state_dir = scratch.path();
  base::Redactor redactor;
  base::NoInterrupt none;
  for (const Row& row : kRows) {
    CAPTURE(std::string(row.module));
    const auto loaded = load(row.module, row.parameter);
    REQUIRE(loaded.recipe);
    const auto plan =
        agent::engine::plan_recipe(*loaded.recipe, host, redactor, none, {.state_dir = scratch.path()});
    REQUIRE(plan.states.size() == 1);
    const agent::engine::PlannedState& state = plan.states.front();
    CHECK(state.module == row.module);
    CHECK(state.message.find("Internal error") == std::string::npos);
    CHECK(state.message.find("Zaphod") == std::string::npos);
    if (!native(row.module)) {
      CHECK(state.verdict == states::Verdict::fail);
      CHECK(state.message.starts_with(std::string("Unsupported module '") + row.module + "'"));
    }
  }
}

TEST_CASE("a value that one module cannot use fails that state alone") {
  const auto package = load("linux.apt.package", R"({"name":[{"key":"fromrepo","value":"opscode"}]})");
  REQUIRE(package.recipe);
  CHECK(package.recipe->states().front().is_unusable);
  // As they were found: a command that is empty.
  const auto loaded = load("linux.cronjob", R"({"cmd":[""],"minute":"5"})");
  REQUIRE(loaded.recipe);
  CHECK(loaded.recipe->states().front().is_unusable);
}
