// Attacks of people who have a token with a scope, each as it was done, over HTTP.
//
// Compiled alone: its names are those of other tests.
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

std::string recipe(const std::string& text, const std::string& id = "a") {
  return R"({"states":[{"id":")" + id + R"(","module":"meta.comment","parameter":{"comment":")" + text +
         "\"}}]}";
}

// Somebody with a token.
struct Person {
  const LiveBackend& backend;
  std::string token;

  transport::HttpReply call(const std::string& method, const std::string& target,
                            const std::string& body = {}) const {
    return call_as(backend, token, method, target, body);
  }
  unsigned status(const std::string& method, const std::string& target, const std::string& body = {}) const {
    return call(method, target, body).status;
  }
  JsonView get(const std::string& target) const { return JsonView(call("GET", target).body); }
  void must(const std::string& method, const std::string& target, const std::string& body = {}) const {
    const auto reply = call(method, target, body);
    REQUIRE_MESSAGE(reply.status < 300, reply.body);
  }
  void tag(const std::string& instance, const std::string& tags) const {
    must("PATCH", "/instances/default/" + instance, R"({"tags":)" + tags + "}");
  }
  void push(const std::string& name, const std::string& content) const {
    must("POST", "/recipes/" + name + "/revisions", content);
  }
  void assign(const std::string& name, const std::string& selector) const {
    must("POST", "/assignments", R"({"recipe":")" + name + R"(","selector":")" + selector + "\"}");
  }
};

Person person(const LiveBackend& backend, const std::string& name, const std::string& role,
              const std::string& scope) {
  return {backend, make_token(backend, name, role, scope)};
}
Person admin_of(const LiveBackend& backend) {
  return {backend, backend.token()};
}

// A machine that has come once; afterwards it waits to be approved, as strangers do where there is TLS.
void add_stranger(const std::string& data, const std::string& name) {
  {
    LiveBackend backend(data);
    TestAgent(name).connect(backend);
  }
  auto store =
      backend::store::sqlite::open_sqlite_store(data + "/opsbackend.db", backend::store::Access::write);
  REQUIRE(store);
  const auto instance = (*store)->find_instance("default", name);
  REQUIRE(instance);
  REQUIRE((*store)->set_pending(instance->key, 5, "127.0.0.1"));
}

}  // namespace

TEST_CASE("attack: a stranger with a name in the scope shows its viewer no recipe, and no app") {
  const tests::ScratchFolder scratch;
  add_stranger(scratch / "data", "web-x-pci");
  LiveBackend backend(scratch / "data");
  const Person admin = admin_of(backend);
  admin.push("pci-passwords", recipe("hunter2"));
  admin.assign("pci-passwords", "instance=*-pci");
  const Person viewer = person(backend, "vic", "viewer", "instance=web-*");
  CHECK(viewer.get("/instances").size("items") == 1);  // to be looked at, and approved by somebody
  CHECK(viewer.status("GET", "/recipes/pci-passwords/revisions/1") == 404);
  CHECK(viewer.get("/recipes").size("items") == 0);
  CHECK(viewer.get("/assignments").size("items") == 0);
  CHECK(viewer.status("GET", "/apps/default") == 404);
}

TEST_CASE("attack: an operator with a scope approves a stranger that would be given what the scope has not") {
  const tests::ScratchFolder scratch;
  add_stranger(scratch / "data", "web-x-pci");
  add_stranger(scratch / "data", "web-y");
  LiveBackend backend(scratch / "data");
  const Person admin = admin_of(backend);
  admin.push("pci-passwords", recipe("hunter2"));
  admin.assign("pci-passwords", "instance=*-pci");
  const Person ann = person(backend, "ann", "operator", "instance=web-*");
  const auto refused = ann.call("POST", "/instances/default/web-x-pci/approve", "{}");
  CHECK(refused.status == 403);
  CHECK(refused.body.find("token without a scope") != std::string::npos);
  CHECK(refused.body.find("pci-passwords") == std::string::npos);
  CHECK(ann.status("GET", "/recipes/pci-passwords/revisions/1") == 404);
  CHECK(admin.get("/instances/default/web-x-pci").text("status") == "pending");
  // What is given nothing of others she lets in.
  CHECK(ann.status("POST", "/instances/default/web-y/approve", "{}") == 200);
  // So she does where her machines have it already; that they have it is for somebody else to say.
  CHECK(admin.status("POST", "/instances/default/web-x-pci/approve", "{}") == 200);
  CHECK(ann.status("GET", "/recipes/pci-passwords/revisions/1") == 200);
}

TEST_CASE("attack: a viewer whose only machine is revoked reads what was pushed later") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const Person admin = admin_of(backend);
  TestAgent web("web1");
  web.connect(backend);
  admin.tag("web1", R"({"role":"web"})");
  admin.push("base", recipe("one"));
  admin.assign("base", "*");
  const Person viewer = person(backend, "vic", "viewer", "role=web");
  CHECK(viewer.status("GET", "/recipes/base/revisions/1") == 200);
  admin.must("POST", "/instances/default/web1/revoke", "{}");
  admin.push("base", recipe("two"));
  CHECK(viewer.status("GET", "/recipes/base/revisions/2") == 404);
  CHECK(viewer.status("GET", "/recipes/base/revisions/1") == 404);
}

TEST_CASE("attack: an operator with a scope sets a tag that somebody else's selector asks for later") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const Person admin = admin_of(backend);
  TestAgent web("web1"), db("db1");
  web.connect(backend);
  db.connect(backend);
  admin.tag("web1", R"({"team":"a"})");
  admin.tag("db1", R"({"role":"db","tier":"pci"})");
  const Person ann = person(backend, "ann", "operator", "team=a");
  ann.tag("web1", R"({"tier":"pci","role":"db"})");
  // Neither an assignment, nor another's scope, nor a command means it by that.
  admin.push("pci-passwords", recipe("hunter2"));
  const auto assigned =
      admin.call("POST", "/assignments", R"({"recipe":"pci-passwords","selector":"tier=pci"})");
  REQUIRE(assigned.status == 201);
  CHECK(JsonView(assigned.body).number("matched") == 1);
  CHECK(assigned.body.find("web1") != std::string::npos);  // the answer says who does not count, and why
  CHECK(db.next<protocol::RecipeMetadata>());
  CHECK(web.hears_no<protocol::RecipeMetadata>());
  CHECK(ann.status("GET", "/recipes/pci-passwords/revisions/1") == 404);
  const Person dba = person(backend, "dba", "operator", "role=db");
  CHECK(dba.get("/instances").size("items") == 1);
  CHECK(dba.status("GET", "/instances/default/web1") == 404);
  const auto plan = admin.call("POST", "/plan", R"({"selector":"tier=pci and instance=web1"})");
  CHECK(plan.body.find("web1") == std::string::npos);
  const auto rollout = admin.call("POST", "/rollouts", R"({"version":"2","selector":"role=db and team=b"})");
  CHECK(rollout.status == 422);
  // Nor does anybody lose it by that: "not tier=pci" means it as before.
  admin.push("common", recipe("x", "c"));
  const auto others = admin.call("POST", "/assignments", R"({"recipe":"common","selector":"not tier=pci"})");
  CHECK(JsonView(others.body).number("matched") == 1);
  CHECK(web.next<protocol::RecipeMetadata>());
  // Her own assignments do mean it, and those of others that name her scope.
  ann.push("mine", recipe("y", "m"));
  const auto own = ann.call("POST", "/assignments", R"({"recipe":"mine","selector":"tier=pci"})");
  CHECK(JsonView(own.body).number("matched") == 1);
  const auto named =
      admin.call("POST", "/assignments", R"({"recipe":"pci-passwords","selector":"team=a and tier=pci"})");
  CHECK(JsonView(named.body).number("matched") == 1);
  // It is there to be seen, with whose it is; and it counts for all once somebody without a scope says so.
  CHECK(admin.get("/instances?selector=tier%3Dpci").size("items") == 2);
  CHECK(admin.get("/instances/default/web1").text("tag_scopes.tier") == "team=a");
  admin.tag("web1", R"({"tier":"pci"})");
  CHECK(admin.get("/instances/default/web1").at("tag_scopes.tier").is_null());
  CHECK(admin.get("/assignments/1").number("matched") == 2);
}

TEST_CASE("attack: an operator with a scope changes a tag of others, and with it what others have assigned") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const Person admin = admin_of(backend);
  TestAgent web("web1");
  web.connect(backend);
  admin.tag("web1", R"({"team":"a","zone":"eu"})");
  const Person ann = person(backend, "ann", "operator", "team=a");
  const auto status = [](const Person& who, const std::string& tags) {
    return who.status("PATCH", "/instances/default/web1", R"({"tags":)" + tags + "}");
  };
  CHECK(status(ann, R"({"zone":"us"})") == 403);
  CHECK(status(ann, R"({"zone":null})") == 403);
  CHECK(status(ann, R"({"zone":"eu"})") == 200);  // as it is
  CHECK(admin.get("/instances/default/web1").at("tag_scopes.zone").is_null());
  // Whether somebody asks for a tag makes no difference to who sets it.
  admin.push("hidden", recipe("hunter2"));
  admin.assign("hidden", "vault=yes");
  CHECK(status(ann, R"({"vault":"yes"})") == status(ann, R"({"vaults":"yes"})"));
  CHECK(ann.status("GET", "/recipes/hidden/revisions/1") == 404);
  // Her own are hers: narrower ones do not change them, wider ones do.
  const Person eve = person(backend, "eve", "operator", "team=a and instance=web*");
  CHECK(status(eve, R"({"vault":"no"})") == 403);
  CHECK(status(eve, R"({"colour":"red"})") == 200);
  CHECK(status(ann, R"({"colour":"blue","vault":null})") == 200);
  CHECK(status(admin, R"({"colour":null})") == 200);
  CHECK(admin.get("/instances/default/web1").at("tag_scopes").members().size() == 1);
}

TEST_CASE("attack: a recipe's name is taken in advance, and others push their password into it") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const Person admin = admin_of(backend);
  const Person ann = person(backend, "ann", "operator", "team=a");
  ann.push("payments", recipe("mine"));
  const auto refused = admin.call("POST", "/recipes/payments/revisions", recipe("hunter2"));
  CHECK(refused.status == 409);
  CHECK(refused.body.find("team=a") != std::string::npos);
  CHECK(refused.body.find("--owner") != std::string::npos);
  CHECK(ann.status("GET", "/recipes/payments/revisions/2") == 404);
  CHECK(admin.status("POST", "/recipes/payments/revisions?owner=team%3Db", recipe("hunter2")) == 409);
  // Who knows whose it is says so.
  const auto pushed = admin.call("POST", "/recipes/payments/revisions?owner=team%3Da", recipe("fine"));
  CHECK(pushed.status == 201);
  CHECK(JsonView(pushed.body).text("owner") == "team=a");
  // A wider scope is another, too.
  const Person wide = person(backend, "wim", "operator", "team in (a, b)");
  CHECK(wide.status("POST", "/recipes/payments/revisions", recipe("hunter3")) == 409);
  CHECK(wide.status("POST", "/recipes/payments/revisions?owner=team%3Da", recipe("fine too")) == 201);
  // To confirm does not replace the right to.
  admin.push("base", recipe("x"));
  CHECK(ann.status("POST", "/recipes/base/revisions?owner=team%3Da", recipe("evil")) == 403);
  CHECK(admin.status("POST", "/recipes/new/revisions?owner=team%3Da", recipe("x")) == 409);
}

TEST_CASE("attack: an operator with a scope removes what somebody without one has assigned to just that") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const Person admin = admin_of(backend);
  TestAgent web("web1");
  web.connect(backend);
  admin.tag("web1", R"({"team":"a"})");
  admin.push("hardening", recipe("x"));
  admin.assign("hardening", "team=a");
  const Person ann = person(backend, "ann", "operator", "team=a");
  CHECK(ann.status("GET", "/assignments/1") == 200);
  CHECK(ann.get("/assignments/1").at("owner").is_null());
  const auto refused = ann.call("DELETE", "/assignments/1");
  CHECK(refused.status == 403);
  CHECK(refused.body.find("tokens without a scope") != std::string::npos);
  ann.push("mine", recipe("y", "m"));
  const std::string mine = R"({"recipe":"mine","selector":"*"})";
  CHECK(ann.status("PUT", "/assignments/1", mine) == 403);
  // Hers she does, until somebody else has said what it is.
  CHECK(ann.status("POST", "/assignments", mine) == 201);
  CHECK(ann.get("/assignments/2").text("owner") == "team=a");
  CHECK(ann.status("PUT", "/assignments/2", mine) == 200);
  CHECK(admin.status("PUT", "/assignments/2", R"({"recipe":"mine","selector":"team=a"})") == 200);
  CHECK(ann.status("DELETE", "/assignments/2") == 403);
  ann.push("other", recipe("z", "o"));
  CHECK(ann.status("POST", "/assignments", R"({"recipe":"other"})") == 201);
  CHECK(ann.status("DELETE", "/assignments/3") == 200);
  // Nor a rollout.
  const auto rollout =
      admin.call("POST", "/rollouts", R"({"version":"9.9.9","selector":"team=a","jitter_s":3600})");
  REQUIRE(rollout.status == 201);
  const std::string id = JsonView(rollout.body).text("id");
  CHECK(ann.status("POST", "/rollouts/" + id + "/abort") == 403);
  CHECK(admin.status("POST", "/rollouts/" + id + "/abort") == 200);
}

TEST_CASE("attack: a scope that asks for what machines say of themselves is asked for by its own text") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent liar("liar1");
  liar.hello.tags = {{"team", "blue"}};
  liar.connect(backend);
  const Person viewer = person(backend, "vic", "viewer", "self.team=blue");
  for (const char* selector :
       {"", "?selector=self.team%3Dblue", "?selector=%28self.team%3Dblue%29%20and%20%28instance%3D%2A%29"})
    CHECK_MESSAGE(viewer.get(std::string("/instances") + selector).size("items") == 0, selector);
}

TEST_CASE("attack: an assignment's warnings tell of machines outside of the scope that claim its tags") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const Person admin = admin_of(backend);
  TestAgent ours("web1"), other("secret-host");
  other.hello.tags = {{"team", "a"}, {"role", "x"}};
  ours.connect(backend);
  other.connect(backend);
  admin.tag("web1", R"({"team":"a"})");
  const Person ann = person(backend, "ann", "operator", "team=a");
  ann.push("mine", recipe("y"));
  const auto assigned = ann.call("POST", "/assignments", R"({"recipe":"mine","selector":"role=x"})");
  CHECK(assigned.status == 201);
  CHECK(assigned.body.find("secret-host") == std::string::npos);
}

TEST_CASE("attack: one machine is given tags without end, or such that no screen shows as they are") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const Person admin = admin_of(backend);
  TestAgent("web1").connect(backend);
  const auto patch = [&](const std::string& tags) {
    return admin.call("PATCH", "/instances/default/web1", R"({"tags":{)" + tags + "}}");
  };
  for (const char* value :
       {R"(a\u0000b)", R"(a\nb)", R"(\u202Etxt)", R"(\u001b[31m)", R"(\u0085)", R"(\u200b)"})
    CHECK_MESSAGE(patch("\"k\":\"" + std::string(value) + "\"").status == 422, value);
  CHECK(patch(R"("k":"Zürich, 2. Stock")").status == 200);
  std::string many;
  for (int i = 0; i < 63; ++i)
    many += (i == 0 ? "\"t" : ",\"t") + std::to_string(i) + R"(":"v")";
  CHECK(patch(many).status == 200);
  const auto refused = patch(R"("one":"more")");
  CHECK(refused.status == 422);
  CHECK(refused.body.find("at most 64 tags") != std::string::npos);
  CHECK(patch(R"("one":"more","t0":null)").status == 200);
  std::string large;
  for (int i = 1; i < 63; ++i)
    large += (i == 1 ? "\"t" : ",\"t") + std::to_string(i) + R"(":")" + std::string(200, 'v') + "\"";
  CHECK(patch(large).status == 422);
  CHECK(admin.get("/instances/default/web1").text("tags.t1") == "v");
}

TEST_CASE("attack: calls that change nothing fill the audit") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const Person admin = admin_of(backend);
  TestAgent("web1").connect(backend);
  admin.tag("web1", R"({"role":"web"})");
  admin.push("base", recipe("x"));
  const std::string edit(admin.call("GET", "/instances/default/web1").header("ETag"));
  const auto rows = [&] { return admin.get("/audit?limit=1000").size("items"); };
  const std::size_t before = rows();
  for (int i = 0; i < 3; ++i) {
    CHECK(admin.status("POST", "/runs/x/cancel", R"({"selector":"instance=nobody"})") == 200);
    CHECK(admin.status("PATCH", "/instances/default/web1", R"({"tags":{"role":"web","none":null}})") == 200);
    CHECK(admin.status("PATCH", "/instances/default/web1", "{\"tags\":{}}") == 200);
    CHECK(admin.status("POST", "/instances/default/web1/include", "{}") == 200);
    CHECK(admin.status("PUT", "/recipes/base/owner", R"({"owner":null})") == 200);
  }
  CHECK(rows() == before);
  CHECK(admin.call("GET", "/instances/default/web1").header("ETag") == edit);
  admin.tag("web1", R"({"role":"db"})");
  CHECK(rows() == before + 1);
}
