// Variables over HTTP: what is set, shown and refused, and attacks on them.
#include <thread>

#include "backend/domain/variables/recipe_inputs.hpp"
#include "backend/store/sqlite/sqlite_store.hpp"
#include "tests/support/live_backend.hpp"
#include "tests/support/operators.hpp"
#include "tests/support/scratch_folder.hpp"

using tests::call_as;
using tests::JsonView;
using tests::LiveBackend;
using tests::make_token;
using tests::TestAgent;

namespace {

struct Setter {
  const LiveBackend& backend;
  std::string token;

  transport::HttpReply set(const std::string& target, const std::string& values,
                           const std::string& more = {}) const {
    return call("POST", "/variables",
                "{" + target + (target.empty() ? "" : ",") + R"("set":)" + values + more + "}");
  }
  transport::HttpReply call(const std::string& method, const std::string& target,
                            const std::string& body = {}) const {
    return call_as(backend, token, method, target, body);
  }
  JsonView must_set(const std::string& target, const std::string& values,
                    const std::string& more = {}) const {
    const auto reply = set(target, values, more);
    REQUIRE_MESSAGE(reply.status == 200, reply.body);
    return JsonView(reply.body);
  }
};

Setter admin_of(const LiveBackend& backend) {
  return {backend, backend.token()};
}
Setter with_scope(const LiveBackend& backend, const std::string& name, const std::string& scope,
                  const std::string& role = "operator") {
  return {backend, make_token(backend, name, role, scope)};
}
std::string for_machine(const std::string& name) {
  return R"("instance_id":")" + name + "\"";
}
std::string for_selector(const std::string& selector) {
  return R"("selector":")" + selector + "\"";
}
void add_machine(LiveBackend& backend, const std::string& name, const std::string& tags) {
  TestAgent agent(name);
  agent.connect(backend);
  const auto reply = backend.call("PATCH", "/instances/default/" + name, R"({"tags":)" + tags + "}");
  REQUIRE_MESSAGE(reply.status == 200, reply.body);
}

}  // namespace

TEST_CASE("variables are set, shown, explained and taken back, and the history keeps all of it") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  add_machine(backend, "web1", R"({"role":"web"})");
  const Setter admin = admin_of(backend);
  const JsonView first = admin.must_set("", R"({"nginx":{"port":80,"user":"www"},"zone":"eu"})");
  CHECK(first.text("kind") == "app");
  CHECK(first.size("changes") == 2);
  admin.must_set(for_selector("role=web"), R"({"nginx":{"port":81}})", R"(,"order":5)");
  admin.must_set(for_machine("web1"), R"({"sites":["shop",7,null,true]})");
  const JsonView explained(admin.call("GET", "/instances/default/web1/variables").body);
  REQUIRE(explained.size("values") == 4);
  CHECK(explained.text("values.0.path") == "nginx.port");
  CHECK(explained.number("values.0.value") == 81);
  CHECK(explained.text("values.0.kind") == "selector");
  CHECK(explained.text("values.0.selector") == "role=web");
  CHECK(explained.text("values.0.author") == "admin");
  CHECK(explained.text("values.1.path") == "nginx.user");
  CHECK(explained.text("values.1.kind") == "app");
  CHECK(explained.text("values.2.path") == "sites");
  CHECK(explained.text("values.3.value") == "eu");

  CHECK(JsonView(admin.call("GET", "/variables").body).size("items") == 3);
  const auto unset = admin.call("POST", "/variables", R"({"unset":["zone"]})");
  CHECK_MESSAGE(unset.status == 200, unset.body);
  CHECK(JsonView(admin.call("GET", "/instances/default/web1/variables").body).size("values") == 3);
  const JsonView history(admin.call("GET", "/variables/history?name=zone").body);
  REQUIRE(history.size("items") == 2);
  CHECK(history.text("items.0.before") == "eu");
  CHECK(history.text("items.1.after") == "eu");
  CHECK(backend.call("GET", "/audit").body.find("variables.set") != std::string::npos);
}

TEST_CASE("what is only looked at changes nothing") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const Setter admin = admin_of(backend);
  const JsonView looked = admin.must_set("", R"({"a":1})", R"(,"dry_run":true)");
  CHECK(looked.size("changes") == 1);
  CHECK(JsonView(admin.call("GET", "/variables").body).size("items") == 0);
  CHECK(JsonView(admin.call("GET", "/variables/history").body).size("items") == 0);
  CHECK(backend.call("GET", "/audit").body.find("variables.set") == std::string::npos);
}

TEST_CASE("of two who have seen the same values one is told that the other was first") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const Setter admin = admin_of(backend);
  const JsonView made = admin.must_set("", R"({"a":1})");
  const std::string path = "/variables/" + std::to_string(made.number("id"));
  const auto set_as_seen = [&](const std::string& value) {
    return backend.call("POST", "/variables", R"({"set":{"a":)" + value + "}}", {{"If-Match", "\"1\""}})
        .status;
  };
  CHECK(set_as_seen("2") == 200);
  CHECK(set_as_seen("3") == 412);
  CHECK(JsonView(admin.call("GET", path).body).number("variables.a.value") == 2);
}

TEST_CASE("a race of many who set different names loses nobody's") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  constexpr int kSetters = 8;
  std::vector<unsigned> statuses(kSetters);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kSetters; ++i)
      threads.emplace_back([&, i] {
        statuses[static_cast<std::size_t>(i)] =
            backend.call("POST", "/variables", R"({"set":{"v)" + std::to_string(i) + R"(":1}})").status;
      });
  }
  CHECK(statuses == std::vector<unsigned>(kSetters, 200));
  const JsonView layers(backend.call("GET", "/variables").body);
  REQUIRE(layers.size("items") == 1);
  CHECK(layers.at("items").items()[0].find("variables")->members().size() == kSetters);
}

TEST_CASE("what is called like a secret is taken with a warning") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const JsonView set = admin_of(backend).must_set("", R"({"db":{"password":"x"},"port":80})");
  REQUIRE(set.size("warnings") == 1);
  CHECK(set.text("warnings.0").find("'db.password' is called like a secret") == 0);
}

TEST_CASE("attack: values that are too large, too deep, too many, or no values") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const Setter admin = admin_of(backend);
  CHECK(admin.set("", R"({"a":")" + std::string(70'000, 'x') + "\"}").status == 422);
  CHECK(admin.set("", R"({"a":)" + std::string(17, '[') + std::string(17, ']') + "}").status == 422);
  CHECK(admin.set("", R"({"a":)" + std::string(60, '[') + std::string(60, ']') + "}").status == 422);
  CHECK(admin.set("", R"({"a":)" + std::string(5000, '[') + std::string(5000, ']') + "}").status == 400);
  CHECK(admin.set("", "{\"a\":\"" + std::string(2'000'000, 'x') + "\"}").status == 413);
  std::string many = "{";
  for (int i = 0; i < 501; ++i)
    many += (i == 0 ? "\"v" : ",\"v") + std::to_string(i) + "\":1";
  CHECK(admin.set("", many + "}").status == 422);
  for (const char* bad : {R"({"a b":1})", R"({"":1})", R"({"a.b":1})", R"({"9":1})", "[]", "7"})
    CHECK_MESSAGE(admin.set("", bad).status == 422, bad);
  CHECK(admin.set(for_machine("../x"), R"({"a":1})").status == 422);
  CHECK(admin.set(for_machine("a") + "," + for_selector("role=b"), R"({"a":1})").status == 422);
  CHECK(admin.set(for_selector("role="), R"({"a":1})").status == 422);
  CHECK(admin.set(R"("app_id":"nowhere")", R"({"a":1})").status == 422);
  CHECK(JsonView(admin.call("GET", "/variables").body).size("items") == 0);
}

TEST_CASE("attack: an operator with a scope sets what reaches past it") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  add_machine(backend, "web1", R"({"role":"web"})");
  add_machine(backend, "db1", R"({"role":"db"})");
  const Setter ann = with_scope(backend, "ann", "role=web");
  CHECK(ann.set("", R"({"a":1})").status == 403);
  CHECK(ann.set(for_machine("db1"), R"({"a":1})").status == 422);
  CHECK(ann.set(for_machine("nobody"), R"({"a":1})").status == 422);
  CHECK(ann.set(for_machine("web1"), R"({"a":1})").status == 200);
  // A selector is narrowed to the scope, whatever it says.
  const JsonView narrowed = ann.must_set(for_selector("*"), R"({"b":1})");
  CHECK(narrowed.text("selector") == "role=web");
  CHECK(ann.must_set(for_selector("role=db or zone=eu"), R"({"b":1})").text("selector") ==
        "(role=web) and (role=db or zone=eu)");
  CHECK(JsonView(backend.call("GET", "/instances/default/db1/variables").body).size("values") == 0);
  CHECK(JsonView(backend.call("GET", "/instances/default/web1/variables").body).size("values") == 2);
  CHECK(with_scope(backend, "vic", "role=web", "viewer").set(for_machine("web1"), R"({"a":2})").status ==
        403);
}

TEST_CASE("attack: an operator with a scope overwrites or takes back what others have set for its machines") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  add_machine(backend, "web1", R"({"role":"web"})");
  const Setter admin = admin_of(backend);
  admin.must_set(for_machine("web1"), R"({"a":1})");
  const Setter ann = with_scope(backend, "ann", "role=web");
  const auto refused = ann.set(for_machine("web1"), R"({"a":2})");
  CHECK(refused.status == 403);
  CHECK(refused.body.find("belong to tokens without a scope") != std::string::npos);
  CHECK(ann.call("POST", "/variables", "{" + for_machine("web1") + R"(,"unset":["a"]})").status == 403);
  CHECK(ann.call("POST", "/variables", "{" + for_machine("web1") + R"(,"replace":true})").status == 403);
  CHECK(JsonView(backend.call("GET", "/instances/default/web1/variables").body).number("values.0.value") ==
        1);
}

TEST_CASE("attack: values and their history of another scope are read") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  add_machine(backend, "web1", R"({"role":"web"})");
  add_machine(backend, "db1", R"({"role":"db"})");
  const Setter dora = with_scope(backend, "dora", "role=db"), ann = with_scope(backend, "ann", "role=web");
  const JsonView layer = dora.must_set(for_machine("db1"), R"({"a":"hunter2"})");
  dora.must_set(for_selector("zone=eu"), R"({"a":"hunter2"})");
  admin_of(backend).must_set(for_selector("role=db"), R"({"a":"hunter2"})");
  const std::string number = std::to_string(layer.number("id"));
  for (const std::string& path :
       {std::string("/variables"), std::string("/variables/history"), "/variables/" + number,
        std::string("/variables/history?instance=db1"), std::string("/variables/history?selector=role=db"),
        std::string("/instances/default/db1/variables"), std::string("/instances/default/web1/variables"),
        std::string("/rollouts"), std::string("/events?types=rollout")})
    if (!path.starts_with("/events"))
      CHECK_MESSAGE(ann.call("GET", path).body.find("hunter2") == std::string::npos, path);
  CHECK(ann.call("GET", "/variables/" + number).status == 404);
  CHECK(ann.call("GET", "/instances/default/db1/variables").status == 404);
  CHECK(JsonView(ann.call("GET", "/variables").body).size("items") == 0);
  CHECK(JsonView(dora.call("GET", "/variables/history").body).size("items") == 3);
  // Whose machine it becomes sees what reaches it now, and not what the other scope has set before.
  REQUIRE(backend.call("PATCH", "/instances/default/db1", R"({"tags":{"role":"web"}})").status == 200);
  CHECK(ann.call("GET", "/instances/default/db1/variables").body.find("hunter2") != std::string::npos);
}

TEST_CASE("attack: a stranger takes the name of a machine to come, to show its values to a scope") {
  const tests::ScratchFolder scratch;
  const std::string data = scratch / "data";
  {
    LiveBackend backend(data);
    TestAgent("pci-9").connect(backend);
  }
  {
    auto store =
        backend::store::sqlite::open_sqlite_store(data + "/opsbackend.db", backend::store::Access::write);
    REQUIRE(store);
    const auto instance = (*store)->find_instance("default", "pci-9");
    REQUIRE(instance);
    REQUIRE((*store)->set_operator_tags(instance->key, {{"role", "web"}}));
    REQUIRE((*store)->set_pending(instance->key, 5, "127.0.0.1"));
  }
  LiveBackend backend(data);
  admin_of(backend).must_set(for_machine("pci-9"), R"({"a":"hunter2"})");
  const Setter ann = with_scope(backend, "ann", "role=web");
  CHECK(ann.call("GET", "/variables").body.find("hunter2") == std::string::npos);
  CHECK(ann.call("GET", "/instances/default/pci-9/variables").body.find("hunter2") == std::string::npos);
  // Nor does she let in what would be given to it.
  const auto refused = ann.call("POST", "/instances/default/pci-9/approve", "{}");
  CHECK_MESSAGE(refused.status == 403, refused.body);
}

TEST_CASE("attack: a machine claims tags to be given values, and a tag of a scope gets it others'") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  {
    TestAgent liar("liar");
    liar.hello.tags = {{"role", "pci"}};
    liar.connect(backend);
  }
  add_machine(backend, "web1", R"({"role":"web"})");
  const Setter admin = admin_of(backend);
  admin.must_set(for_selector("role=pci"), R"({"a":"hunter2"})");
  admin.must_set(for_selector("tier=pci"), R"({"a":"hunter2"})");
  CHECK(JsonView(admin.call("GET", "/instances/default/liar/variables").body).size("values") == 0);
  CHECK(admin.set(for_selector("self.role=pci"), R"({"a":1})").status == 422);
  const Setter ann = with_scope(backend, "ann", "instance=web1");
  ann.call("PATCH", "/instances/default/web1", R"({"tags":{"tier":"pci"}})");
  CHECK(ann.call("GET", "/instances/default/web1/variables").body.find("hunter2") == std::string::npos);
  CHECK(ann.call("GET", "/variables").body.find("hunter2") == std::string::npos);
}

TEST_CASE("apply puts variables in place, and prunes what its set has made and describes no more") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  add_machine(backend, "web1", R"({"role":"web"})");
  const Setter admin = admin_of(backend);
  admin.must_set(for_selector("by=hand"), R"({"kept":1})");
  const auto apply = [&](const std::string& items, const std::string& more = {}) {
    return admin.call("POST", "/apply", R"({"set":"site","items":[)" + items + "]" + more + "}");
  };
  const std::string app = R"({"kind":"variables","values":{"a":1,"b":{"c":[1]}}})";
  const std::string web = R"({"kind":"variables","selector":"role=web","order":3,"values":{"a":2}})";
  const auto dry = apply(app + "," + web, R"(,"dry_run":true)");
  REQUIRE_MESSAGE(dry.status == 200, dry.body);
  CHECK(JsonView(dry.body).number("changes") == 2);
  CHECK(JsonView(admin.call("GET", "/variables").body).size("items") == 1);
  REQUIRE(apply(app + "," + web).status == 200);
  CHECK(JsonView(apply(app + "," + web).body).number("changes") == 0);
  // All that there is to be: what is not described goes from the layer.
  const JsonView less(apply(R"({"kind":"variables","values":{"a":1}},)" + web).body);
  CHECK(less.number("changes") == 1);
  CHECK(less.text("variables.0.change") == "edited");
  CHECK(less.text("variables.0.names.0") == "b");
  const JsonView pruned(apply(R"({"kind":"variables","values":{"a":1}})", R"(,"prune":true)").body);
  CHECK(pruned.number("changes") == 1);
  CHECK(pruned.text("variables.0.change") == "removed");
  const JsonView left(admin.call("GET", "/variables").body);
  CHECK(left.size("items") == 2);
  CHECK(admin.call("GET", "/variables").body.find("by=hand") != std::string::npos);
  // Two items about the same, a value that cannot be, a viewer.
  CHECK(apply(app + "," + app).status == 422);
  CHECK(apply(R"({"kind":"variables","values":{"a b":1}})").status == 422);
  CHECK(apply(R"({"kind":"variables","selector":"role=web"})").status == 422);
  CHECK(with_scope(backend, "ann", "role=web")
            .call("POST", "/apply", R"({"set":"mine","items":[)" + app + "]}")
            .status == 403);
}
