// What cursors and the length of pages tell a token with a scope of what it must not see.
#include <thread>

#include "backend/domain/model.hpp"
#include "tests/support/live_backend.hpp"
#include "tests/support/operators.hpp"
#include "tests/support/scratch_folder.hpp"

using tests::call_as;
using tests::JsonView;
using tests::LiveBackend;
using tests::make_token;
using tests::TestAgent;

namespace {

// Machines web1 (role=web) and db1, db2 (role=db); a viewer of role=web.
struct Site {
  explicit Site(const std::string& data) : backend(data) {
    db1.connect(backend);
    web.connect(backend);
    db2.connect(backend);
    backend.tag("web1", "role", "web");
    backend.tag("db1", "role", "db");
    backend.tag("db2", "role", "db");
    viewer = make_token(backend, "viewer", "viewer", "role=web");
  }
  JsonView get(const std::string& target) const {
    const auto reply = call_as(backend, viewer, "GET", target);
    REQUIRE_MESSAGE(reply.status == 200, reply.body);
    return JsonView(reply.body);
  }
  // How many items a walk in steps of one sees, and on how many pages.
  std::pair<std::size_t, std::size_t> walk(const std::string& target) const {
    std::size_t items = 0, pages = 0;
    for (std::string after; pages < 100; ++pages) {
      const JsonView page = get(target + (after.empty() ? "" : "&after=" + after));
      items += page.size("items");
      if (page.at("next").is_null()) return {items, pages + 1};
      after = page.text("next");
    }
    return {items, pages};
  }
  static bool tells_nothing(const JsonView& page) {
    return page.size("items") == 0 && page.at("next").is_null();
  }

  LiveBackend backend;
  TestAgent db1{"db1"}, web{"web1"}, db2{"db2"};
  std::string viewer;
};

using Walked = std::pair<std::size_t, std::size_t>;

}  // namespace

TEST_CASE("attack: a viewer reads the names of hidden recipes and apps from cursors") {
  const tests::ScratchFolder scratch;
  const Site site(scratch / "data");
  for (const char* name : {"a-secret", "m-secret", "z-secret"}) {
    site.backend.push(name, "[]");
    REQUIRE(site.backend.call("PUT", std::string("/apps/") + name, "{}").status == 201);
  }
  CHECK(Site::tells_nothing(site.get("/recipes?limit=1")));
  const JsonView apps = site.get("/apps?limit=1");
  CHECK(apps.text("items.0.app_id") == "default");
  const std::string next = apps.text("next");
  CHECK(next.find("default") == std::string::npos);
  CHECK(Site::tells_nothing(site.get("/apps?limit=1&after=" + next)));
  // A cursor is for who got it, and for its list.
  const std::string other = make_token(site.backend, "other", "viewer", "role=web");
  CHECK(call_as(site.backend, other, "GET", "/apps?limit=1&after=" + next).status == 400);
  CHECK(call_as(site.backend, site.viewer, "GET", "/recipes?limit=1&after=" + next).status == 400);
  CHECK(call_as(site.backend, site.viewer, "GET", "/apps?limit=1&after=a").status == 400);
  // Without a scope it is as it was.
  CHECK(JsonView(site.backend.call("GET", "/recipes?limit=1").body).text("next") == "a-secret");
}

TEST_CASE("attack: a viewer finds out by cursors which results others have") {
  const tests::ScratchFolder scratch;
  Site site(scratch / "data");
  std::uint64_t seq = 0;
  for (int i = 0; i < 3; ++i) {
    ++seq;
    site.db1.report(seq, "hidden", 1, "failed", "r1");
    REQUIRE(site.db1.acked(seq));
    site.web.report(seq, "open", 1);
    REQUIRE(site.web.acked(seq));
    site.db2.report(seq, "hidden", 1);
    REQUIRE(site.db2.acked(seq));
  }
  for (const char* filter : {"state=hidden", "state=nothing", "outcome=failed", "run=r1"})
    CHECK_MESSAGE(Site::tells_nothing(site.get("/results?limit=1&" + std::string(filter))), filter);
  CHECK(site.walk("/results?limit=1") == Walked(3, 4));
  CHECK(site.walk("/results?limit=2") == Walked(3, 2));
  CHECK(Site::tells_nothing(site.get("/rounds?limit=1")));
}

TEST_CASE("attack: a viewer counts the hidden machines of a rollout by its phases") {
  const tests::ScratchFolder scratch;
  const Site site(scratch / "data");
  const auto made =
      site.backend.call("POST", "/rollouts", R"({"version":"9.9.9","selector":"role=web or role=db"})");
  REQUIRE_MESSAGE(made.status == 201, made.body);
  const std::string id = JsonView(made.body).text("id");
  const auto [items, pages] = site.walk("/rollouts/" + id + "?limit=1");
  CHECK(items == 1);
  CHECK(pages == 2);
  for (const char* phase : {"waiting", "told", "confirmed", "failed"}) {
    const JsonView page = site.get("/rollouts/" + id + "?limit=1&phase=" + phase);
    CHECK(page.at("next").is_null() == (page.size("items") == 0));
  }
}

TEST_CASE("attack: a viewer learns from waits who is held up outside of the scope") {
  const tests::ScratchFolder scratch;
  const Site site(scratch / "data");
  site.backend.push("site", R"([{"id":"s","module":"meta.comment","parameter":{"comment":"x"}}])");
  site.backend.assign("site", "role=web");
  site.backend.push("waits", R"([{"id":"x","module":"meta.wait","parameter":{"state":["web1/s"]}}])");
  site.backend.assign("waits", "role=db");
  const JsonView all(site.backend.call("GET", "/waits?limit=1").body);
  CHECK(all.size("items") == 1);
  CHECK(all.number("held_up_by.0.waiting") == 2);
  const JsonView waits = site.get("/waits?limit=1");
  CHECK(Site::tells_nothing(waits));
  CHECK(waits.size("held_up_by") == 0);
}

TEST_CASE("attack: a viewer counts the revisions of a recipe of which it may read one") {
  const tests::ScratchFolder scratch;
  const Site site(scratch / "data");
  site.backend.push("shared", "[]");
  for (int i = 0; i < 3; ++i)
    site.backend.push("shared", R"([{"id":"s)" + std::to_string(i) +
                                    R"(","module":"meta.comment","parameter":{"comment":"x"}}])");
  const auto assigned =
      site.backend.call("POST", "/assignments", R"({"recipe":"shared","revision":2,"selector":"role=web"})");
  REQUIRE_MESSAGE(assigned.status == 201, assigned.body);
  const JsonView page = site.get("/recipes/shared?limit=1");
  CHECK(page.size("revisions") == 1);
  CHECK(page.number("revisions.0.revision") == 2);
  const JsonView rest = site.get("/recipes/shared?limit=1&after=" + page.text("next"));
  CHECK(rest.size("revisions") == 0);
  CHECK(rest.at("next").is_null());
}

TEST_CASE("recipes of one owner have a quota, and others are not held up by it") {
  const tests::ScratchFolder scratch;
  backend::server::Options options;
  options.recipe_revisions = 3;
  options.recipe_bytes = 1 << 20;
  LiveBackend backend(scratch / "data", options);
  const std::string web = make_token(backend, "web", "operator", "role=web");
  const std::string db = make_token(backend, "db", "operator", "role=db");
  const auto push = [&](const std::string& token, const std::string& name, const std::string& comment) {
    return call_as(
        backend, token, "POST", "/recipes/" + name + "/revisions",
        R"({"states":[{"id":"s","module":"meta.comment","parameter":{"comment":")" + comment + "\"}}]}");
  };
  CHECK(push(web, "large", std::string(700'000, 'x')).status == 409);
  for (int i = 0; i < 3; ++i)
    CHECK(push(web, "small", std::to_string(i)).status == 201);
  for (const char* name : {"small", "another"}) {
    const auto refused = push(web, name, "one too many");
    CHECK(refused.status == 409);
    CHECK(refused.body.find("recipe_revisions") != std::string::npos);
  }
  CHECK(push(db, "mine", "x").status == 201);
  CHECK(push(backend.token(), "ours", std::string(700'000, 'x')).status == 201);
}
