// Instances, recipes, assignments and records, in real files.
#include "backend/store/store.hpp"

#include <map>

#include <doctest/doctest.h>

#include "backend/store/inventory/apps.hpp"
#include "backend/store/inventory/instances.hpp"
#include "backend/store/inventory/recipes.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;

namespace {

using backend::domain::Admission;
using base::ErrorCode;
using tests::must;
using tests::StoreBench;

}  // namespace

STORE_TEST_CASE("the app 'default' is there from the start, and another can be made") {
  StoreBench bench;
  CHECK(must(bench->find_app("default")).report == "all");
  CHECK(bench->find_app("shop").error().code() == ErrorCode::not_found);
  auto app = must(backend::store::put_app(*bench, {"shop", "changes"}, 0, bench.now));
  CHECK(app.edit == 1);
  CHECK(backend::store::put_app(*bench, {"shop", "all"}, 0, bench.now).error().code() == ErrorCode::exists);
  CHECK(must(backend::store::put_app(*bench, {"shop", "all"}, 1, bench.now)).edit == 2);
  CHECK(backend::store::put_app(*bench, {"shop", "all"}, 1, bench.now).error().code() == ErrorCode::exists);
  CHECK(backend::store::put_app(*bench, {"a/b", "all"}, {}, bench.now).error().code() == ErrorCode::invalid);
  CHECK(backend::store::put_app(*bench, {"c", "some"}, {}, bench.now).error().code() == ErrorCode::invalid);
  CHECK(must(bench->list_apps({})).items.size() == 2);
}

STORE_TEST_CASE("an instance is bound to the token of its first sight") {
  StoreBench bench;
  CHECK(bench.admit("web1").is_new);
  CHECK_FALSE(bench.admit("web1").is_new);
  auto stranger = StoreBench::handshake("web1");
  stranger.instance_token = "guessed";
  const auto refused = bench.admit(stranger);
  CHECK(refused.verdict == domain::Admission::Verdict::wrong_token);
  CHECK(refused.reason.find("known with another token") != std::string::npos);
  CHECK(bench.stored_bytes().find("token of web1") == std::string::npos);
  CHECK(must(bench->find_instance("default", "web1")).epoch == 2);
}

STORE_TEST_CASE("a handshake without a known app, a token or a usable id is refused") {
  StoreBench bench;
  auto handshake = StoreBench::handshake("web1");
  handshake.app_id = "x";
  auto refused = bench.admit(handshake);
  CHECK(refused.verdict == domain::Admission::Verdict::unknown_app);
  CHECK(refused.reason == "app 'x' is not known: opsctl app create x");
  handshake = StoreBench::handshake("a/b");
  CHECK(bench.admit(handshake).verdict == domain::Admission::Verdict::invalid);
  handshake = StoreBench::handshake("web1");
  handshake.instance_token.clear();
  CHECK(bench.admit(handshake).verdict == domain::Admission::Verdict::invalid);
}

STORE_TEST_CASE("the epoch grows with every handshake, across restarts") {
  StoreBench bench;
  CHECK(bench.join("web1").epoch == 1);
  CHECK(bench.join("web1").epoch == 2);
  bench.open();
  CHECK(bench.join("web1").epoch == 3);
}

STORE_TEST_CASE("what an agent says of itself is kept, and presence follows its newest connection") {
  StoreBench bench;
  const auto old = bench.join_saying("web1", {{"role", "web"}});
  const auto session = bench.join_saying("web1", {{"role", "db"}});
  must(bench->set_offline(old, bench.now));
  CHECK(must(bench->find_instance("default", "web1")).online);
  must(bench->set_offline(session, bench.now + 5));
  const auto instance = must(bench->find_instance("default", "web1"));
  CHECK_FALSE(instance.online);
  CHECK(instance.last_seen == bench.now + 5);
  CHECK(instance.agent_version == "1.2.3");
  CHECK(instance.agent_uid == "uid of web1");
  CHECK(instance.protocol == 2);
  CHECK(instance.agent_tags.at("role") == "db");
  CHECK(instance.tags().empty());  // its word is not the operator's
  CHECK(instance.status == "new");
}

STORE_TEST_CASE("an agent that has a higher version than ours gets a higher one still") {
  StoreBench bench;
  auto handshake = StoreBench::handshake("web1");
  handshake.recipe_version = 17;
  bench.admit(handshake);
  CHECK(must(bench->find_instance("default", "web1")).recipe_version == 17);
  handshake.recipe_version = 20;
  bench.admit(handshake);
  CHECK(must(bench->find_instance("default", "web1")).recipe_version == 21);
}

STORE_TEST_CASE("the operator's tags win over the agent's, where those count at all") {
  StoreBench bench;
  bench.trust(backend::domain::SelfTrust::all);
  bench.join_saying("web1", {{"role", "web"}, {"zone", "a"}});
  auto instance =
      must(backend::store::patch_tags(*bench, "default", "web1", {{"role", "db"}, {"team", "x"}}, {}));
  CHECK(instance.tags() == backend::domain::Tags{{"role", "db"}, {"team", "x"}, {"zone", "a"}});
  CHECK(backend::store::patch_tags(*bench, "default", "web1", {{"role", "y"}}, instance.edit - 1)
            .error()
            .code() == ErrorCode::exists);
  must(backend::store::patch_tags(*bench, "default", "web1", {{"role", std::nullopt}}, instance.edit));
  CHECK(must(bench->find_instance("default", "web1")).tags().at("role") == "web");
}

STORE_TEST_CASE("facts are replaced in full and merged by patches") {
  StoreBench bench;
  const auto key = bench.join("web1").instance;
  CHECK_FALSE(must(backend::store::put_facts(*bench, key, {"h1", {}, protocol::Json{"{}"}}, "")));
  CHECK(must(backend::store::put_facts(
      *bench, key, {"h1", protocol::Json{R"({"os":{"id":"debian","v":12},"a":[1]})"}, {}}, "")));
  const protocol::Json patch{R"({"os":{"v":null,"new":{"x":null,"y":1}},"a":2})"};
  CHECK_FALSE(must(backend::store::put_facts(*bench, key, {"h2", {}, patch}, "other")));
  CHECK(must(backend::store::put_facts(*bench, key, {"h2", {}, patch}, "h1")));
  const auto instance = must(bench->find_instance(key));
  CHECK(instance.facts == R"({"os":{"id":"debian","new":{"y":1}},"a":2})");
  CHECK(instance.facts_hash == "h2");
  CHECK(backend::store::put_facts(*bench, key, {"h", protocol::Json{"[1]"}, {}}, "").error().code() ==
        ErrorCode::invalid);
  const protocol::Json large{"{\"x\":\"" + std::string(2'000'000, 'x') + "\"}"};
  CHECK(backend::store::put_facts(*bench, key, {"h", large, {}}, "").error().code() == ErrorCode::limit);
  const protocol::Json small{"{}"};
  CHECK(backend::store::put_facts(*bench, key, {std::string(1'000'000, 'h'), small, {}}, "").error().code() ==
        ErrorCode::limit);
}

STORE_TEST_CASE("attack: the list and the counts agree on who is converged, failed, rejected or on its way") {
  StoreBench bench;
  must(backend::store::put_app(*bench, {"shop", "all"}, 0, bench.now));
  bench.push("web", "states: [{id: a, module: meta.comment}]");
  bench.assign("*", "web");
  const auto report = [&](const backend::domain::AgentSession& session, protocol::RecipeProgress progress) {
    const std::vector<backend::domain::Report> reports{
        protocol::RecipeStatus{.seq = 1, .recipe_version = 1, .status = progress},
        protocol::RoundEnd{.seq = 2, .recipe_version = 1}, StoreBench::log(3, "a")};
    must(bench->store_reports(session, reports, bench.now));
  };
  std::map<std::string, backend::domain::AgentSession> sessions;
  for (const char* name : {"there", "behind", "failed", "rejected", "running", "new"}) {
    sessions[name] = bench.join(name);
    must(backend::fleet::place_instance(*bench, sessions[name].instance));
  }
  for (const char* name : {"there", "behind", "rejected"})
    report(sessions[name], protocol::RecipeProgress::converged);
  report(sessions["failed"], protocol::RecipeProgress::failed);
  report(sessions["running"], protocol::RecipeProgress::running);
  must(bench->place(sessions["behind"].instance,
                    must(bench->find_instance(sessions["there"].instance)).placement));
  must(bench->set_problem(sessions["rejected"].instance, "two states with one id"));
  auto other = StoreBench::handshake("there");
  other.app_id = "shop";
  report(bench.admit(other).session, protocol::RecipeProgress::failed);

  std::map<std::string, std::uint64_t> listed;
  for (const auto& each : must(bench->list_instances({.app_id = "default"}, nullptr, {})).items)
    ++listed[each.status == "accepted" ? "running" : each.status];
  const auto counts = must(bench->fleet("default", bench.now));
  CHECK(counts.instances == 6);
  CHECK(counts.converged == 1);
  CHECK(listed["converged"] == 1);
  CHECK(counts.running == 2);
  CHECK(listed["running"] == 2);
  CHECK(counts.failed == listed["failed"]);
  CHECK(counts.rejected == listed["rejected"]);
  CHECK(listed["new"] == 1);
  // Of one app only its own are counted.
  CHECK(counts.results == 5);
  CHECK(counts.rounds == 5);
  CHECK(must(bench->fleet("shop", bench.now)).results == 1);
  CHECK(must(bench->fleet("", bench.now)).results == 6);
}

STORE_TEST_CASE("attack: facts of a connection that a newer one has taken over from are not stored") {
  StoreBench bench;
  const auto older = bench.join("web1"), newer = bench.join("web1");
  const protocol::Facts now{"h2", protocol::Json{R"({"a":2})"}, {}},
      late{"h1", protocol::Json{R"({"a":1})"}, {}};
  CHECK(must(backend::store::put_facts(*bench, newer, std::span(&now, 1))));
  CHECK_FALSE(must(backend::store::put_facts(*bench, older, std::span(&late, 1))));
  CHECK(must(bench->find_instance(newer.instance)).facts == R"({"a":2})");
  CHECK(must(bench->find_instance(newer.instance)).facts_hash == "h2");
  // Several are stored together or not at all.
  const std::vector<protocol::Facts> some{now, {"h3", {}, {}}};
  CHECK_FALSE(backend::store::put_facts(*bench, newer, some));
  must(bench->revoke_instance(newer.instance, "lost", bench.now));
  CHECK_FALSE(must(backend::store::put_facts(*bench, newer, std::span(&late, 1))));
}

STORE_TEST_CASE("instances are listed in pages, by name, with what a selector matches") {
  StoreBench bench;
  for (int i = 0; i < 25; ++i)
    bench.join("web" + std::to_string(100 + i), {{"odd", i % 2 == 1 ? "yes" : "no"}});
  const auto key = must(bench->find_instance("default", "web103")).key;
  must(backend::store::put_facts(*bench, key, {"h", protocol::Json{R"({"os":{"id":"debian"}})"}, {}}, ""));

  const auto odd = must(backend::domain::Selector::parse("odd=yes"));
  std::vector<std::string> names;
  backend::domain::PageRequest request{"", 5};
  std::size_t pages = 0;
  do {
    auto page = must(bench->list_instances({}, &odd, request));
    for (const auto& instance : page.items)
      names.push_back(instance.instance_id);
    request.after = page.next;
    ++pages;
  } while (!request.after.empty());
  CHECK(names.size() == 12);
  CHECK(pages == 3);
  CHECK(names.front() == "web101");
  CHECK(names.back() == "web123");

  const auto debian = must(backend::domain::Selector::parse("fact.os.id=debian"));
  auto page = must(bench->list_instances({}, &debian, {}));
  REQUIRE(page.items.size() == 1);
  CHECK(page.items[0].instance_id == "web103");
  CHECK(must(bench->list_instances({.online = false}, nullptr, {})).items.empty());
  must(bench->set_all_offline());
  CHECK(must(bench->list_instances({.online = false}, nullptr, {})).items.size() == 25);
  CHECK(bench->list_instances({}, nullptr, {"junk", 5}).error().code() == ErrorCode::invalid);
}

STORE_TEST_CASE("an instance is forgotten when it is not connected, and starts anew") {
  StoreBench bench;
  const auto session = bench.join("web1");
  CHECK(backend::store::forget_instance(*bench, "default", "web1", bench.now).error().code() ==
        ErrorCode::exists);
  must(bench->set_offline(session, bench.now));
  must(backend::store::forget_instance(*bench, "default", "web1", bench.now));
  CHECK(backend::store::forget_instance(*bench, "default", "web1", bench.now).error().code() ==
        ErrorCode::not_found);
  auto handshake = StoreBench::handshake("web1");
  handshake.instance_token = "a new one";
  const auto again = bench.admit(handshake);
  CHECK(again.is_new);
  CHECK(again.session.instance != session.instance);
}

STORE_TEST_CASE("a recipe's revisions are immutable, and the same content is the same revision") {
  StoreBench bench;
  const std::string first = "states: [{id: a, module: meta.comment}]", second = first + "\n# a remark\n";
  CHECK(bench.push("web", first) == 1);
  CHECK(bench.push("web", first) == 1);
  CHECK(bench.push("web", second) == 2);
  CHECK(bench.push("web", first) == 3);
  CHECK(must(bench->find_revision("web", 1)).content == first);
  CHECK(must(bench->find_revision("web", std::nullopt)).revision == 3);
  CHECK(must(bench->find_revision("web", 1)).digest == must(bench->find_revision("web", 2)).digest);
  CHECK(bench->find_revision("web", 4).error().message() == "there is no recipe 'web' with revision 4");
  auto page = must(bench->list_revisions("web", {"", 2}));
  CHECK(page.items[0].revision == 3);
  CHECK(must(bench->list_revisions("web", {page.next, 2})).items[0].revision == 1);
  bench.push("db", first);
  const auto recipes = must(bench->list_recipes({}));
  REQUIRE(recipes.items.size() == 2);
  CHECK(recipes.items[1].newest == 3);
}

STORE_TEST_CASE("an assignment names an app, a recipe and a selector that exist") {
  StoreBench bench;
  bench.push("web", "states: [{id: a, module: meta.comment}]");
  auto assignment = bench.assign("role=web", "web");
  assignment.selector = "role=";
  CHECK(backend::store::edit_assignment(*bench, assignment, {}).error().message() ==
        "selector: at 6: expected a value");
  assignment.selector = "*";
  assignment.revision = 2;
  CHECK(backend::store::edit_assignment(*bench, assignment, {}).error().code() == ErrorCode::not_found);
  assignment.revision = 1;
  CHECK(backend::store::edit_assignment(*bench, assignment, 7).error().code() == ErrorCode::exists);
  CHECK(must(backend::store::edit_assignment(*bench, assignment, 1)).edit == 2);
  CHECK(must(bench->find_assignment(assignment.id)).revision == 1);
  CHECK(must(bench->apps_that_follow("web")).empty());
  must(backend::store::remove_assignment(*bench, assignment.id, 2));
  CHECK(bench->find_assignment(assignment.id).error().code() == ErrorCode::not_found);
}

STORE_TEST_CASE("a revision has its author and what was said about it") {
  StoreBench bench;
  domain::NewRevision revision{
      .name = "web", .content = "{}", .syntax = "json", .digest = "d", .states = "[]"};
  revision.author = "ann";
  revision.message = "the first";
  must(store::put_revision(*bench, revision, bench.now));
  revision.content = "{ }";
  revision.message = "the second";
  must(store::put_revision(*bench, revision, bench.now));
  CHECK(must(bench->find_revision("web", 1)).message == "the first");
  const auto listed = must(bench->list_revisions("web", {}));
  REQUIRE(listed.items.size() == 2);
  CHECK(listed.items[0].message == "the second");
  CHECK(listed.items[0].author == "ann");
  CHECK(must(bench->list_recipes({})).items.at(0).message == "the second");
}

STORE_TEST_CASE("the same recipe is not assigned to the same selector twice") {
  StoreBench bench;
  bench.push("web", R"({"states":[]})");
  bench.push("db", R"({"states":[]})");
  auto first = bench.assign("role=web", "web");
  auto second = first;
  second.id = 0;
  const auto again = store::add_assignment(*bench, second, bench.now);
  REQUIRE_FALSE(again);
  CHECK(again.error().message().find("already assigned: assignment 1 gives 'web' to role=web") == 0);
  const auto other = bench.assign("role=web", "db");
  auto edited = other;
  edited.recipe = "web";
  CHECK_FALSE(store::edit_assignment(*bench, edited, std::nullopt));
  // It may be edited as often as one likes.
  first.order = 5;
  CHECK(must(store::edit_assignment(*bench, first, std::nullopt)).order == 5);
}

STORE_TEST_CASE("an assignment bears the set that has made it, and keeps it when it is edited") {
  StoreBench bench;
  bench.push("web", R"({"states":[{"id":"a","module":"meta.comment","parameter":{"comment":"x"}}]})");
  CHECK(bench.assign("role=hand", "web").set.empty());
  domain::Assignment made{.app_id = "default", .selector = "role=web", .recipe = "web"};
  made.set = "site";
  made = must(backend::store::add_assignment(*bench, made, bench.now));
  CHECK(made.set == "site");
  domain::Assignment edited = made;
  edited.order = 3;
  edited.set = "other";
  CHECK(must(backend::store::edit_assignment(*bench, edited, {})).set == "site");
  bench.open();
  CHECK(must(bench->find_assignment(made.id)).set == "site");
  CHECK(must(bench->assignments_in_order("default")).back().set == "site");
  CHECK(must(bench->list_assignments("", {})).items.front().set.empty());
}
