// Whose recipes are, over HTTP: who reads them, who pushes them, and where a push runs.
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

// A web server and a database with tags of the operator's, and people for the web.
struct Site {
  explicit Site(const std::string& data) : backend(data) {
    for (TestAgent* each : {&web, &db}) {
      each->connect(backend);
      const std::string& name = each->hello.instance_id;
      const auto tagged = backend.call("PATCH", "/instances/default/" + name,
                                       R"({"tags":{"role":")" + name.substr(0, name.size() - 1) + "\"}}");
      REQUIRE(tagged.status == 200);
    }
    viewer = make_token(backend, "vic", "viewer", "role=web");
    ann = make_token(backend, "ann", "operator", "role=web");
  }
  unsigned status(const std::string& token, const std::string& method, const std::string& target,
                  const std::string& body = {}) const {
    return call_as(backend, token, method, target, body).status;
  }
  JsonView get(const std::string& token, const std::string& target) const {
    return JsonView(call_as(backend, token, "GET", target).body);
  }
  void push(const std::string& token, const std::string& name, const std::string& content) const {
    const auto reply = call_as(backend, token, "POST", "/recipes/" + name + "/revisions", content);
    REQUIRE_MESSAGE(reply.status == 201, reply.body);
  }
  // How many rows of the audit have this action.
  std::size_t noted(const std::string& action) const {
    const JsonView audit(backend.call("GET", "/audit?limit=1000").body);
    std::size_t count = 0;
    for (std::size_t i = 0; i < audit.size("items"); ++i)
      count += audit.text("items." + std::to_string(i) + ".action") == action ? 1 : 0;
    return count;
  }

  LiveBackend backend;
  TestAgent web{"web1"}, db{"db1"};
  std::string viewer, ann;
};

}  // namespace

TEST_CASE("attack: a viewer with a scope asks for every recipe, and reads no password of others") {
  const tests::ScratchFolder scratch;
  const Site site(scratch / "data");
  const std::string admin = site.backend.token();
  site.push(admin, "vault", recipe("password=hunter2"));
  site.push(admin, "unassigned", recipe("password=hunter3"));
  site.backend.assign("vault", "role=db");
  CHECK(site.get(site.viewer, "/recipes").size("items") == 0);
  CHECK(site.get(site.viewer, "/assignments").size("items") == 0);
  for (const char* path : {"/recipes/vault", "/recipes/vault/revisions/1", "/recipes/unassigned/revisions/1"})
    CHECK_MESSAGE(site.status(site.viewer, "GET", path) == 404, path);
  // Nor by the ways around: to plan it, to assign it, to make a machine be of those that have it.
  CHECK(site.status(site.ann, "POST", "/plan", R"({"recipe":{"name":"vault"}})") == 404);
  CHECK(site.status(site.ann, "POST", "/assignments", R"({"recipe":"vault","selector":"*"})") == 422);
  CHECK(site.status(site.ann, "POST", "/assignments", R"({"recipe":"vault","revision":1})") == 422);
  site.backend.assign("unassigned", "vault=yes");
  CHECK(site.status(site.ann, "PATCH", "/instances/default/web1", R"({"tags":{"vault":"yes"}})") == 200);
  CHECK(site.status(site.ann, "GET", "/recipes/unassigned/revisions/1") == 404);
  CHECK(site.status(site.ann, "PATCH", "/instances/default/web1", R"({"tags":{"colour":"blue"}})") == 200);
  CHECK(site.status(admin, "GET", "/recipes/vault/revisions/1") == 200);
}

TEST_CASE("attack: an operator with a scope pushes a recipe that nobody follows yet, and it is refused") {
  const tests::ScratchFolder scratch;
  Site site(scratch / "data");
  const std::string admin = site.backend.token();
  site.push(admin, "base", recipe("good"));
  const auto refused = call_as(site.backend, site.ann, "POST", "/recipes/base/revisions", recipe("evil"));
  CHECK(refused.status == 403);
  CHECK(refused.body.find("another name") != std::string::npos);
  site.backend.assign("base", "*");
  const auto placed = site.db.next<protocol::RecipeMetadata>();
  REQUIRE(placed);
  REQUIRE(placed->states);
  CHECK(placed->states->text.find("good") != std::string::npos);
  // A narrower scope does not push what belongs to the wider one: its next assignment may be anywhere there.
  const std::string eve = make_token(site.backend, "eve", "operator", "role=web and zone=eu");
  site.push(site.ann, "webs", recipe("good", "w"));
  CHECK(site.status(eve, "POST", "/recipes/webs/revisions", recipe("evil", "w")) == 403);
  CHECK(site.get(admin, "/recipes/webs").text("owner") == "role=web");
  // A wider one does: it reaches all machines that it could run on.
  const std::string wide = make_token(site.backend, "wim", "operator", "role in (web, db)");
  CHECK(site.status(wide, "POST", "/recipes/webs/revisions?owner=role%3Dweb", recipe("better", "w")) == 201);
}

TEST_CASE(
    "a recipe of another owner is pinned where its owner reaches nothing, and a later push runs not there") {
  const tests::ScratchFolder scratch;
  Site site(scratch / "data");
  const std::string admin = site.backend.token();
  site.push(site.ann, "tool", recipe("good"));
  const auto assigned =
      site.backend.call("POST", "/assignments", R"({"recipe":"tool","selector":"role=db"})");
  REQUIRE(assigned.status == 201);
  const JsonView answer(assigned.body);
  CHECK(answer.number("revision") == 1);
  CHECK(answer.at("pinned").as_bool().value_or(false));
  CHECK(answer.text("notice").find("belongs to the scope role=web") != std::string::npos);
  REQUIRE(site.db.next<protocol::RecipeMetadata>());
  site.push(site.ann, "tool", recipe("evil"));
  CHECK(site.db.hears_no<protocol::RecipeMetadata>());
  // On the owner's own machines it is followed, whoever assigns it.
  const auto inside = site.backend.call("POST", "/assignments", R"({"recipe":"tool","selector":"role=web"})");
  CHECK(JsonView(inside.body).at("revision").is_null());
  CHECK_FALSE(JsonView(inside.body).at("pinned").as_bool().value_or(true));
  REQUIRE(site.web.next<protocol::RecipeMetadata>());
  site.push(site.ann, "tool", recipe("third"));
  CHECK(site.web.next<protocol::RecipeMetadata>());
  CHECK(site.db.hears_no<protocol::RecipeMetadata>());
  // An edit that asks for the newest is pinned to the newest of now.
  const auto edited =
      site.backend.call("PUT", "/assignments/1", R"({"recipe":"tool","selector":"role=db","revision":null})");
  CHECK(JsonView(edited.body).number("revision") == 3);
}

TEST_CASE("of a recipe of others a scope reads the revisions that its machines have, and no other") {
  const tests::ScratchFolder scratch;
  const Site site(scratch / "data");
  const std::string admin = site.backend.token();
  for (const char* text : {"one", "two", "three"})
    site.push(admin, "base", recipe(text));
  const auto pinned =
      site.backend.call("POST", "/assignments", R"({"recipe":"base","selector":"role=web","revision":2})");
  REQUIRE(pinned.status == 201);
  CHECK(site.get(site.viewer, "/recipes").number("items.0.newest") == 2);
  const JsonView shown = site.get(site.viewer, "/recipes/base");
  REQUIRE(shown.size("revisions") == 1);
  CHECK(shown.number("revisions.0.revision") == 2);
  CHECK(site.status(site.viewer, "GET", "/recipes/base/revisions/1") == 404);
  CHECK(site.status(site.viewer, "GET", "/recipes/base/revisions/2") == 200);
  CHECK(site.status(site.viewer, "GET", "/recipes/base/revisions/3") == 404);
  // What she assigns of it is what she can read, and stays that.
  const auto newest =
      call_as(site.backend, site.ann, "POST", "/assignments", R"({"recipe":"base","selector":"*"})");
  CHECK(newest.status == 422);
  CHECK(newest.body.find("name revision 2") != std::string::npos);
  CHECK(site.status(site.ann, "POST", "/assignments",
                    R"({"recipe":"base","selector":"instance=none","revision":2})") == 201);
  CHECK(site.backend.call("PUT", "/assignments/1", R"({"recipe":"base","selector":"role=web"})").status ==
        200);
  CHECK(site.status(site.viewer, "GET", "/recipes/base/revisions/3") == 200);
  CHECK(site.status(site.viewer, "GET", "/recipes/base/revisions/1") == 404);
  const auto followed = call_as(site.backend, site.ann, "POST", "/assignments",
                                R"({"recipe":"base","selector":"instance=later"})");
  CHECK(JsonView(followed.body).number("revision") == 3);
  CHECK(JsonView(followed.body).text("notice").find("tokens without a scope") != std::string::npos);
  // When nothing of it is for her machines any more, it is gone.
  for (const char* id : {"/assignments/1", "/assignments/2", "/assignments/3"})
    CHECK(site.backend.call("DELETE", id).status == 200);
  CHECK(site.status(site.viewer, "GET", "/recipes/base/revisions/3") == 404);
}

TEST_CASE("a recipe is handed to another scope, and what follows it elsewhere keeps it from being pushed") {
  const tests::ScratchFolder scratch;
  const Site site(scratch / "data");
  const std::string admin = site.backend.token();
  site.push(admin, "base", recipe("one"));
  CHECK(site.get(admin, "/recipes/base").at("owner").is_null());
  site.backend.assign("base", "*");
  CHECK(site.backend.call("PUT", "/recipes/base/owner", R"({"owner":"role=web"})").status == 200);
  CHECK(site.get(admin, "/recipes").text("items.0.owner") == "role=web");
  CHECK(site.status(site.ann, "POST", "/recipes/base/revisions", recipe("two")) == 403);
  CHECK(site.backend.call("PUT", "/assignments/1", R"({"recipe":"base","selector":"*"})").status == 200);
  CHECK(site.get(admin, "/assignments/1").number("revision") == 1);  // pinned by the edit
  CHECK(site.status(site.ann, "POST", "/recipes/base/revisions", recipe("two")) == 201);
  CHECK(site.backend.call("PUT", "/recipes/base/owner", R"({"owner":null})").status == 200);
  CHECK(site.status(site.ann, "POST", "/recipes/base/revisions", recipe("three")) == 403);
  CHECK(site.backend.call("PUT", "/recipes/none/owner", R"({"owner":null})").status == 404);
  CHECK(site.backend.call("PUT", "/recipes/base/owner", R"({"owner":"role="})").status == 422);
  CHECK(site.backend.call("PUT", "/recipes/base/owner", "{}").status == 422);
  CHECK(site.noted("recipe.owner") == 2);
}

TEST_CASE("who reads a recipe's content is in the audit, once for each token, revision and hour") {
  const tests::ScratchFolder scratch;
  const Site site(scratch / "data");
  const std::string admin = site.backend.token();
  for (int i = 0; i < 2; ++i)
    site.push(admin, "base", recipe("text " + std::to_string(i)));
  site.backend.assign("base", "role=web");
  for (int i = 0; i < 30; ++i)
    CHECK(site.status(site.viewer, "GET", "/recipes/base/revisions/2") == 200);
  CHECK(site.noted("recipe.read") == 1);
  const JsonView row(site.backend.call("GET", "/audit?limit=1").body);
  CHECK(row.text("items.0.actor") == "vic");
  CHECK(row.text("items.0.object") == "base");
  CHECK(row.text("items.0.detail") == "revision 2");
  CHECK(site.status(admin, "GET", "/recipes/base/revisions/1") == 200);
  CHECK(site.status(admin, "GET", "/recipes/base/revisions/2") == 200);
  CHECK(site.noted("recipe.read") == 3);
  CHECK(site.status(admin, "GET", "/recipes") == 200);  // names are no content
  CHECK(site.status(admin, "GET", "/recipes/base") == 200);
  CHECK(site.status(site.ann, "POST", "/plan", R"({"recipe":{"name":"base"},"selector":"instance=none"})") ==
        200);
  CHECK(site.noted("recipe.read") == 4);
  // What was asked for and is not theirs is noted as refused.
  CHECK(site.status(site.viewer, "GET", "/recipes/base/revisions/1") == 404);
  const JsonView refused(site.backend.call("GET", "/audit?limit=1").body);
  CHECK(refused.text("items.0.result") == "denied");
  CHECK(refused.text("items.0.object") == "GET /api/v1/recipes/base/revisions/1");
}
