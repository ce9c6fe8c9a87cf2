// Who may call what: every route with every kind of caller, scopes, and the limit on guessing.
#include <map>

#include "backend/api/route.hpp"
#include "backend/domain/access/operator_token.hpp"
#include "backend/store/sqlite/sqlite.hpp"
#include "base/sha256.hpp"
#include "tests/support/live_backend.hpp"
#include "tests/support/operators.hpp"
#include "tests/support/scratch_folder.hpp"

using backend::api::Role;
using tests::call_as;
using tests::JsonView;
using tests::LiveBackend;
using tests::make_token;
using tests::TestAgent;
using namespace std::chrono_literals;

namespace {

std::string path_of(std::string_view pattern) {
  std::string path;
  for (const std::string_view part : base::split(pattern.substr(1), '/'))
    path.append("/").append(part.starts_with('{') ? "1" : part);
  return path;
}

// What each route lets pass, written out once more: a new route needs a row here, or the test fails.
struct Expected {
  Role role;
  bool scoped;  // a token with a scope may call it
};
const std::map<std::string, Expected> kExpected{
    {"GET /openapi.json", {Role::anyone, true}},
    {"GET /apps", {Role::viewer, true}},
    {"GET /apps/{app}", {Role::viewer, true}},
    {"GET /apps/{app}/self-reported", {Role::viewer, false}},
    {"PUT /apps/{app}", {Role::admin, false}},
    {"GET /apps/{app}/modules", {Role::viewer, true}},
    {"GET /apps/{app}/modules/{module}", {Role::viewer, true}},
    {"GET /instances", {Role::viewer, true}},
    {"GET /instances/{app}/{id}", {Role::viewer, true}},
    {"PATCH /instances/{app}/{id}", {Role::operator_, true}},
    {"DELETE /instances/{app}/{id}", {Role::admin, true}},
    {"POST /instances/{app}/{id}/revoke", {Role::operator_, true}},
    {"POST /instances/{app}/{id}/approve", {Role::operator_, true}},
    {"POST /instances/{app}/{id}/expect", {Role::admin, false}},
    {"POST /instances/{app}/{id}/exclude", {Role::operator_, true}},
    {"POST /instances/{app}/{id}/include", {Role::operator_, true}},
    {"GET /recipes", {Role::viewer, true}},
    {"GET /recipes/{name}", {Role::viewer, true}},
    {"GET /recipes/{name}/modules", {Role::viewer, true}},
    {"GET /recipes/{name}/modules/{module}", {Role::viewer, true}},
    {"GET /recipes/{name}/revisions/{revision}", {Role::viewer, true}},
    {"POST /recipes/{name}/revisions", {Role::operator_, true}},
    {"POST /recipes/{name}/rollback", {Role::operator_, true}},
    {"PUT /recipes/{name}/owner", {Role::admin, false}},
    {"GET /assignments", {Role::viewer, true}},
    {"POST /assignments", {Role::operator_, true}},
    {"GET /assignments/{id}", {Role::viewer, true}},
    {"PUT /assignments/{id}", {Role::operator_, true}},
    {"DELETE /assignments/{id}", {Role::operator_, true}},
    {"POST /apply", {Role::operator_, true}},
    {"POST /plan", {Role::operator_, true}},
    {"POST /run", {Role::operator_, true}},
    {"POST /runs/{run_id}/cancel", {Role::operator_, true}},
    {"POST /query", {Role::operator_, true}},
    {"POST /pause", {Role::operator_, true}},
    {"POST /resume", {Role::operator_, true}},
    {"POST /run-now", {Role::operator_, true}},
    {"POST /settings", {Role::admin, true}},
    {"GET /rollouts", {Role::viewer, true}},
    {"POST /rollouts", {Role::admin, true}},
    {"GET /rollouts/{id}", {Role::viewer, true}},
    {"POST /rollouts/{id}/pause", {Role::operator_, true}},
    {"POST /rollouts/{id}/resume", {Role::operator_, true}},
    {"POST /rollouts/{id}/exclude", {Role::operator_, true}},
    {"POST /rollouts/{id}/abort", {Role::operator_, true}},
    {"GET /variables", {Role::viewer, true}},
    {"POST /variables", {Role::operator_, true}},
    {"GET /variables/history", {Role::viewer, true}},
    {"GET /variables/{id}", {Role::viewer, true}},
    {"GET /instances/{app}/{id}/variables", {Role::viewer, true}},
    {"GET /recipes/{name}/variables", {Role::viewer, true}},
    {"GET /results", {Role::viewer, true}},
    {"GET /rounds", {Role::viewer, true}},
    {"GET /waits", {Role::viewer, true}},
    {"GET /audit", {Role::admin, false}},
    {"GET /failures", {Role::viewer, true}},
    {"GET /fleet", {Role::viewer, true}},
    {"GET /installation", {Role::admin, false}},
    {"GET /events", {Role::viewer, true}},
    {"GET /tokens", {Role::admin, false}},
    {"POST /tokens", {Role::admin, false}},
    {"DELETE /tokens/{name}", {Role::admin, false}},
    {"GET /join-tokens", {Role::admin, false}},
    {"POST /join-tokens", {Role::admin, false}},
    {"DELETE /join-tokens/{id}", {Role::admin, false}},
    {"GET /authorities", {Role::viewer, true}},
    {"GET /authorities/status", {Role::admin, false}},
    {"POST /authorities/rotate", {Role::admin, false}},
    {"POST /authorities/retire", {Role::admin, false}},
};

// Every route with one token. `expect` says which status each is to have; 0: any but 401, 403 and 429. An
// unknown query parameter keeps those that pass from doing anything: they answer 400.
template <class Expect>
void call_all(const LiveBackend& backend, const std::string& token, Expect expect) {
  for (const auto& route : backend::api::all_routes()) {
    const std::string name = std::string(route.method) + " " + std::string(route.pattern);
    const auto expected = kExpected.find(name);
    REQUIRE_MESSAGE(expected != kExpected.end(), name);
    const auto reply =
        call_as(backend, token, std::string(route.method), path_of(route.pattern) + "?nonsense=1");
    CHECK_MESSAGE(reply.status == expect(expected->second), name);
  }
}

// A token that is none any more: its row is made in the file, as the backend would find it at its start.
std::string planted_token(const std::string& data, const std::string& columns) {
  const auto made = backend::domain::make_operator_token();
  auto database = backend::store::sqlite::Database::open(data + "/opsbackend.db",
                                                         backend::store::sqlite::Database::Mode::write);
  REQUIRE(database);
  auto done = database->execute(
      "INSERT INTO tokens (id, name, role, scope, secret_hash, created, created_by, expires, revoked) VALUES "
      "('" +
      made.id + "', 'old', 'admin', '', '" + base::sha256_hex(made.secret) + "', 1, 'test', " + columns +
      ")");
  REQUIRE(done);
  return backend::domain::format_operator_token(made);
}

}  // namespace

TEST_CASE("every route lets in whom it should, and nobody else") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  CHECK(kExpected.size() == backend::api::all_routes().size());
  const auto needs = [](Role role) {
    return [role](const Expected& expected) { return expected.role <= role ? 400u : 403u; };
  };
  const auto nobody = [](const Expected& expected) { return expected.role == Role::anyone ? 400u : 401u; };
  call_all(backend, "", nobody);
  call_all(backend, "ops_0123456789abcdef_" + std::string(64, '0'), nobody);
  call_all(backend, make_token(backend, "ann", "viewer"), needs(Role::viewer));
  call_all(backend, make_token(backend, "bob", "operator"), needs(Role::operator_));
  call_all(backend, make_token(backend, "cid", "admin"), needs(Role::admin));
  call_all(backend, make_token(backend, "dan", "admin", "role=web"),
           [](const Expected& expected) { return expected.scoped ? 400u : 403u; });
}

TEST_CASE("an expired and a revoked token open no route") {
  const tests::ScratchFolder scratch;
  { const LiveBackend first(scratch / "data"); }
  const std::string expired = planted_token(scratch / "data", "5, 0");
  const std::string revoked = planted_token(scratch / "data", "0, 5");
  const auto nobody = [](const Expected& expected) { return expected.role == Role::anyone ? 400u : 401u; };
  {
    LiveBackend backend(scratch / "data");
    call_all(backend, expired, nobody);
  }
  LiveBackend backend(scratch / "data");
  call_all(backend, revoked, nobody);
  const std::string token = make_token(backend, "ann", "admin");
  CHECK(call_as(backend, token, "GET", "/tokens").status == 200);
  CHECK(backend.call("DELETE", "/tokens/ann").status == 204);
  CHECK(call_as(backend, token, "GET", "/tokens").status == 401);  // at once
  CHECK(backend.call("DELETE", "/tokens/ann").status == 404);
}

TEST_CASE("a token is shown once, kept as a hash, and listed with who made it") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const auto made =
      backend.call("POST", "/tokens", R"({"name":"ann","role":"operator","scope":"role=web","ttl_s":3600})");
  const JsonView shown(made.body);
  const std::string token = shown.text("token");
  CHECK(token.starts_with("ops_"));
  CHECK(made.header("Cache-Control") == "no-store");
  CHECK(backend.call("POST", "/tokens", R"({"name":"ann"})").status == 409);
  for (const char* wrong :
       {R"({"name":"a b"})", R"({"name":"x","role":"root"})", R"({"name":"x","scope":"role="})",
        R"({"name":"x","ttl_s":0})", R"({"role":"viewer"})"})
    CHECK_MESSAGE(backend.call("POST", "/tokens", wrong).status == 422, wrong);
  const auto listed = backend.call("GET", "/tokens").body;
  CHECK(listed.find(token.substr(token.size() - 64)) == std::string::npos);
  const JsonView tokens(listed);
  CHECK(tokens.text("items.0.name") == "ann");
  CHECK(tokens.text("items.0.scope") == "role=web");
  CHECK(tokens.text("items.0.created_by") == "admin");
  CHECK(tokens.text("items.1.name") == "admin");
  for (const char* file : {"data/opsbackend.db", "data/opsbackend.db-wal"})
    CHECK(scratch.read(file).find(token.substr(token.size() - 64)) == std::string::npos);
  CHECK(call_as(backend, token, "GET", "/fleet").status == 200);
  const JsonView used(backend.call("GET", "/tokens").body);
  CHECK_FALSE(used.text("items.0.last_used").empty());
}

TEST_CASE("admin.token that is removed is made anew at the next start, and the old one is dead") {
  const tests::ScratchFolder scratch;
  std::string old;
  {
    const LiveBackend backend(scratch / "data");
    old = backend.token();
  }
  {
    const LiveBackend backend(scratch / "data");
    CHECK(backend.token() == old);
    CHECK(call_as(backend, old, "GET", "/tokens").status == 200);
  }
  ::unlink((scratch / "data/admin.token").c_str());
  const LiveBackend backend(scratch / "data");
  CHECK(backend.token() != old);
  CHECK(scratch.mode("data/admin.token") == 0600);
  CHECK(call_as(backend, old, "GET", "/tokens").status == 401);
  CHECK(call_as(backend, backend.token(), "GET", "/tokens").status == 200);
}

TEST_CASE("an admin.token from before there were ids still opens the door") {
  const tests::ScratchFolder scratch;
  scratch.write("data/admin.token", std::string(64, 'a') + "\n");
  const LiveBackend backend(scratch / "data");
  CHECK(call_as(backend, std::string(64, 'a'), "GET", "/tokens").status == 200);
  CHECK(call_as(backend, std::string(64, 'b'), "GET", "/tokens").status == 401);
}

TEST_CASE("who shows many wrong tokens is told to wait, and a good one from the same address still works") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  transport::HttpReply last;
  int refused = 0;
  for (int i = 0; i < 130; ++i) {
    last = call_as(backend, "guess " + std::to_string(i), "GET", "/apps");
    refused += last.status == 401 ? 1 : 0;
  }
  CHECK(refused >= 100);
  CHECK(last.status == 429);
  CHECK(base::parse_integer(last.header("Retry-After")).value_or(0) >= 1);
  CHECK(backend.call("GET", "/apps").status == 200);
}

TEST_CASE("what is done and what is refused is in the audit: who, from where, what, to whom, how it ended") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const std::string viewer = make_token(backend, "ann", "viewer");
  CHECK(call_as(backend, viewer, "PUT", "/apps/shop", "{}").status == 403);
  CHECK(backend.call("PUT", "/apps/shop", "{}").status == 201);
  const JsonView audit(backend.call("GET", "/audit").body);
  CHECK(audit.text("items.0.action") == "app.create");
  CHECK(audit.text("items.0.actor") == "admin");
  CHECK(audit.text("items.0.from") == "127.0.0.1");
  CHECK(audit.text("items.0.object") == "shop");
  CHECK(audit.text("items.0.result") == "ok");
  CHECK(audit.text("items.1.actor") == "ann");
  CHECK(audit.text("items.1.object") == "PUT /api/v1/apps/shop");
  CHECK(audit.text("items.1.result") == "denied");
  CHECK(audit.text("head.chain") == audit.text("items.0.chain"));
  const JsonView oldest(backend.call("GET", "/audit?order=oldest&limit=1").body);
  CHECK(oldest.number("items.0.id") == 1);
  CHECK(oldest.text("next") == "1");
  CHECK(backend.call("GET", "/audit?order=sideways").status == 400);
  for (int i = 0; i < 150; ++i)
    CHECK(call_as(backend, viewer, "PUT", "/apps/shop", "{}").status == 403);
  CHECK(JsonView(backend.call("GET", "/audit?limit=1000").body).size("items") < 110);
}

TEST_CASE("a revoked machine's open connection is closed within a second, and it is not let in again") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.connect(backend);
  const auto start = std::chrono::steady_clock::now();
  const auto revoked = backend.call("POST", "/instances/default/web1/revoke", R"({"reason":"stolen"})");
  CHECK(revoked.status == 200);
  CHECK(JsonView(revoked.body).text("identity.reason") == "stolen");
  CHECK(agent.close_code() == 1008);
  CHECK(std::chrono::steady_clock::now() - start < 1s);
  agent.leave();
  agent.open(backend);
  agent.send(agent.hello);
  CHECK(agent.close_code() == 1008);
}

TEST_CASE("join tokens need TLS: without it the answer says so") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const auto reply = backend.call("POST", "/join-tokens", R"({"app_id":"default","uses":3})");
  CHECK(reply.status == 409);
  CHECK(reply.body.find("--plain") != std::string::npos);
  CHECK(backend.call("POST", "/join-tokens", R"({"app_id":"a b"})").status == 422);
  CHECK(backend.call("POST", "/join-tokens", R"({"tags":{"a/b":"c"}})").status == 422);
  CHECK(JsonView(backend.call("GET", "/join-tokens").body).size("items") == 0);
  CHECK(backend.call("DELETE", "/join-tokens/0123").status == 404);
}
