// Attacks of people who have a token with a scope, each as it was done, over HTTP.
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
  REQUIRE((*store)->set_pending(instance->key, 5));
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
