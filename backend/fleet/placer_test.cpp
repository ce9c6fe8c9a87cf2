#include "backend/fleet/placer.hpp"

#include <chrono>

#include <doctest/doctest.h>

#include "backend/store/history/housekeeping.hpp"
#include "backend/store/identity/certificates.hpp"
#include "backend/store/inventory/instances.hpp"
#include "backend/store/inventory/recipes.hpp"
#include "tests/support/store_bench.hpp"

namespace {

using tests::must;
using tests::StoreBench;

backend::fleet::Placed place(StoreBench& bench) {
  return must(backend::fleet::place_app(*bench, "default"));
}
std::string refusal(StoreBench& bench) {
  const auto placed = backend::fleet::place_app(*bench, "default");
  REQUIRE_FALSE(placed);
  CHECK(placed.error().code() == base::ErrorCode::exists);
  return placed.error().message();
}
backend::domain::Instance find(StoreBench& bench, const std::string& id) {
  return must(bench->find_instance("default", id));
}
std::string states_of(StoreBench& bench, const std::string& id) {
  return must(bench->find_placement(find(bench, id).placement)).states;
}
std::string comments(const std::string& ids) {
  std::string text = "states:\n";
  for (const char id : ids)
    text += std::string("- {id: ") + id + ", module: meta.comment}\n";
  return text;
}
std::string waiting(const std::string& id, const std::string& target) {
  return "- {id: " + id + ", module: meta.wait, parameter: {state: [" + target + "]}}\n";
}
const char* const kA = R"({"id":"a","module":"meta.comment","parameter":{}})";
const char* const kB = R"({"id":"b","module":"meta.comment","parameter":{}})";

}  // namespace

STORE_TEST_CASE("instances get the recipes that are assigned to them, in order") {
  StoreBench bench;
  bench.join("web1", {{"role", "web"}});
  bench.join("db1", {{"role", "db"}});
  bench.push("first", comments("a"));
  bench.push("second", comments("b"));
  bench.assign("*", "second", 2);
  bench.assign("role=web", "first", 1);
  const auto placed = place(bench);
  CHECK(placed.matched == 2);
  CHECK(placed.changed.size() == 2);
  CHECK(states_of(bench, "web1") == "[" + std::string(kA) + "," + kB + "]");
  CHECK(states_of(bench, "db1") == "[" + std::string(kB) + "]");
  CHECK(find(bench, "web1").recipe_version == 1);
  CHECK(place(bench).changed.empty());
}

STORE_TEST_CASE("the version grows with what an instance should run, and only then") {
  StoreBench bench;
  bench.join("web1");
  bench.push("web", comments("a"));
  const auto assignment = bench.assign("*", "web");
  place(bench);
  bench.push("web", comments("a") + "# a remark\n");
  CHECK(place(bench).changed.empty());
  bench.push("web", comments("ab"));
  CHECK(place(bench).changed.at(0).recipe_version == 2);
  const std::string digest = find(bench, "web1").recipe_digest;
  auto edited = assignment;
  edited.round_delay_s = 30;
  must(backend::store::edit_assignment(*bench, edited, {}));
  CHECK(place(bench).changed.at(0).recipe_version == 3);
  CHECK(find(bench, "web1").recipe_digest != digest);  // else an agent that was away would not be sent it
  CHECK(must(bench->find_placement(find(bench, "web1").placement)).round_delay_s == 30);
  must(backend::store::remove_assignment(*bench, assignment.id, {}));
  CHECK(place(bench).changed.at(0).recipe_version == 4);
  CHECK(states_of(bench, "web1") == "[]");
}

STORE_TEST_CASE("an instance that nothing was ever assigned to is left alone") {
  StoreBench bench;
  bench.join("web1");
  CHECK(place(bench).changed.empty());
  CHECK(find(bench, "web1").recipe_version == 0);
}

STORE_TEST_CASE("two recipes with the same state on one machine are refused, and nothing changes") {
  StoreBench bench;
  bench.join("web1");
  bench.push("first", comments("a"));
  bench.push("second", comments("ba"));
  bench.assign("*", "first");
  place(bench);
  const auto outcome = bench->transact([&]() -> base::Result<void> {
    bench.assign("*", "second");
    auto placed = backend::fleet::place_app(*bench, "default");
    if (!placed) return std::move(placed).error();
    return {};
  });
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().message() ==
        "instance 'web1': the recipes first, second do not go together on one machine: the id 'a' is used "
        "twice");
  CHECK(find(bench, "web1").recipe_version == 1);
  CHECK(must(bench->list_assignments("", {})).items.size() == 1);
}

STORE_TEST_CASE("a machine that cannot be placed is rejected, and the others get what is pushed") {
  StoreBench bench;
  for (const char* name : {"web1", "web2", "odd"})
    bench.join(name);
  for (const char* name : {"web1", "web2"})
    must(backend::store::patch_tags(*bench, "default", name, {{"role", "web"}}, {}));
  must(backend::store::patch_tags(*bench, "default", "odd", {{"role", "web"}, {"tier", "pci"}}, {}));
  bench.push("web", comments("a"));
  bench.push("pci", comments("b"));
  bench.assign("role=web", "web");
  bench.assign("tier=pci", "pci");
  place(bench);
  bench.push("web", comments("ab"));
  const auto placed = must(backend::fleet::place_app(*bench, "default", {.assignment = {}, .recipe = "web"}));
  CHECK(placed.changed.size() == 2);
  REQUIRE(placed.rejected.size() == 1);
  CHECK(placed.rejected[0].instance_id == "odd");
  CHECK(placed.rejected[0].is_new);
  CHECK(placed.rejected[0].is_touched);
  CHECK(find(bench, "odd").status == "rejected");
  CHECK(find(bench, "odd").errors.at(0).find("the id 'b' is used twice") != std::string::npos);
  CHECK(find(bench, "odd").recipe_version == 1);  // it keeps what it has
  CHECK(find(bench, "web1").recipe_version == 2);

  // And again: it stays so, and blocks nobody.
  bench.push("web", comments("abc"));
  const auto again = must(backend::fleet::place_app(*bench, "default", {.assignment = {}, .recipe = "web"}));
  CHECK(again.changed.size() == 2);
  CHECK_FALSE(again.rejected.at(0).is_new);

  // Revoked, it is not looked at any more.
  must(backend::store::revoke(*bench, "default", "odd", "", bench.now));
  bench.push("web", comments("c"));
  const auto without =
      must(backend::fleet::place_app(*bench, "default", {.assignment = {}, .recipe = "web"}));
  CHECK(without.changed.size() == 2);
  CHECK(without.matched == 2);
  CHECK(without.rejected.empty());
  CHECK(must(backend::fleet::place_instance(*bench, find(bench, "odd").key)).changed.empty());
}

STORE_TEST_CASE("a machine is not given what it asks for by tags of its own") {
  StoreBench bench;
  bench.push("web", comments("a"));
  bench.push("pci", comments("b"));
  bench.assign("role=web", "web");
  bench.assign("tier=pci", "pci");
  const auto session = bench.join_saying("web1", {{"tier", "pci"}, {"role", "db"}});
  must(bench->set_operator_tags(session.instance, {{"role", "web"}}));
  must(backend::fleet::place_instance(*bench, session.instance));
  CHECK(states_of(bench, "web1") == "[" + std::string(kA) + "]");
  CHECK(place(bench).changed.empty());
  CHECK_FALSE(backend::store::add_assignment(
      *bench, {.app_id = "default", .selector = "self.tier=pci", .recipe = "pci"}, bench.now));

  bench.trust(backend::domain::SelfTrust::all);
  CHECK(place(bench).changed.size() == 1);
  CHECK(states_of(bench, "web1") == "[" + std::string(kA) + "," + kB + "]");
  bench.trust(backend::domain::SelfTrust::off);
  CHECK(place(bench).changed.size() == 1);
  CHECK(states_of(bench, "web1") == "[" + std::string(kA) + "]");
}

STORE_TEST_CASE("a machine that claims tags of two recipes with one id keeps nobody from a push") {
  StoreBench bench;
  bench.trust(backend::domain::SelfTrust::all);
  bench.join_saying("web1", {{"role", "web"}});
  bench.push("web", comments("a"));
  bench.push("pci", comments("b"));
  bench.assign("role=web", "web");
  bench.assign("tier=pci", "pci");
  // It is well until the operator pushes, and is the only one of its kind.
  bench.join_saying("liar", {{"role", "web"}, {"tier", "pci"}});
  place(bench);
  bench.push("pci", comments("ab"));
  const auto placed = must(backend::fleet::place_app(*bench, "default", {.assignment = {}, .recipe = "pci"}));
  CHECK(placed.rejected.size() == 1);
  CHECK(find(bench, "liar").status == "rejected");
  bench.push("web", comments("ac"));
  CHECK(must(backend::fleet::place_app(*bench, "default", {.assignment = {}, .recipe = "web"}))
            .changed.size() == 1);
  CHECK(find(bench, "web1").recipe_version == 2);
}

STORE_TEST_CASE("a wait that asks for what machines say is refused where that does not count") {
  StoreBench bench;
  bench.join("web1");
  bench.join_saying("db1", {{"role", "db"}});
  bench.push("db", comments("x"));
  bench.push("web", "states:\n" + waiting("w", "{selector: self.role=db, state_id: x}"));
  bench.assign("instance=db1", "db");
  bench.assign("instance=web1", "web");
  CHECK(refusal(bench).find("trust_self_reported is off") != std::string::npos);
  bench.trust(backend::domain::SelfTrust::named);
  CHECK(place(bench).changed.size() == 2);
}

STORE_TEST_CASE("a change that works for nobody whom it touches is refused, whatever others do") {
  StoreBench bench;
  for (const char* name : {"web1", "db1"})
    bench.join(name);
  bench.push("base", comments("a"));
  bench.push("db", comments("a"));
  bench.assign("*", "base");
  place(bench);
  const auto outcome = bench->transact([&]() -> base::Result<void> {
    const auto assignment = bench.assign("instance=db1", "db");
    auto placed = backend::fleet::place_app(*bench, "default", {.assignment = assignment.id, .recipe = ""});
    if (!placed) return std::move(placed).error();
    return {};
  });
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().message().find("instance 'db1': the recipes base, db do not go together") == 0);
  CHECK(find(bench, "db1").status == "new");
}

STORE_TEST_CASE("a machine that was rejected for a wait does not keep others from their recipe") {
  StoreBench bench;
  bench.join("a");
  bench.push("one", "states:\n" + waiting("v", "b/y") + "- {id: x, module: meta.comment}\n");
  bench.push("two", "states:\n" + waiting("w", "a/x") + "- {id: y, module: meta.comment}\n");
  bench.push("other", comments("z"));
  bench.assign("instance=a", "one");
  bench.assign("instance=b", "two");
  place(bench);
  const auto session = bench.join("b");
  must(backend::fleet::place_instance(*bench, session.instance));
  REQUIRE(find(bench, "b").status == "rejected");
  bench.join("c");
  bench.assign("instance=c", "other");
  CHECK(place(bench).changed.size() == 1);
  CHECK(find(bench, "c").recipe_version == 1);
  CHECK(find(bench, "b").status == "rejected");
}

STORE_TEST_CASE("a cycle of waits is refused when it is assigned") {
  StoreBench bench;
  bench.join("a");
  bench.join("b");
  bench.push("one", "states:\n- {id: x, module: meta.comment}\n");
  bench.push("two", "states:\n" + waiting("w", "a/x") + "- {id: y, module: meta.comment}\n");
  bench.assign("instance=a", "one");
  bench.assign("instance=b", "two");
  place(bench);
  bench.push("one", "states:\n" + waiting("v", "b/y") + "- {id: x, module: meta.comment}\n");
  const std::string text = refusal(bench);
  CHECK(text.find("a wait that can never end: ") == 0);
  CHECK(text.find("a/v → b/y → b/w") != std::string::npos);
}

STORE_TEST_CASE("a machine that joins later gets its recipe at its handshake") {
  StoreBench bench;
  bench.push("web", comments("a"));
  bench.assign("role=web", "web");
  place(bench);
  const auto session = bench.join("web1", {{"role", "web"}});
  const auto placed = must(backend::fleet::place_instance(*bench, session.instance));
  REQUIRE(placed.changed.size() == 1);
  CHECK(placed.changed[0].recipe_version == 1);
  CHECK(must(backend::fleet::place_instance(*bench, session.instance)).changed.empty());
  must(backend::store::patch_tags(*bench, "default", "web1", {{"role", "other"}}, {}));
  CHECK(must(backend::fleet::place_instance(*bench, session.instance)).changed.at(0).recipe_version == 2);
  CHECK(states_of(bench, "web1") == "[]");
}

STORE_TEST_CASE("facts decide where the selector asks for them") {
  StoreBench bench;
  bench.trust(backend::domain::SelfTrust::named);
  bench.push("web", comments("a"));
  bench.assign("fact.os.id=debian", "web");
  const auto session = bench.join("web1");
  CHECK(must(backend::fleet::place_instance(*bench, session.instance)).changed.empty());
  must(backend::store::put_facts(*bench, session.instance,
                                 {"h", protocol::Json{R"({"os":{"id":"debian"}})"}, {}}, ""));
  CHECK(place(bench).matched == 1);
  CHECK(find(bench, "web1").recipe_version == 1);
}

STORE_TEST_CASE("a machine that joins into a wait that can never end is rejected with the reason") {
  StoreBench bench;
  bench.join("a");
  bench.push("one", "states:\n" + waiting("v", "b/y") + "- {id: x, module: meta.comment}\n");
  bench.push("two", "states:\n" + waiting("w", "a/x") + "- {id: y, module: meta.comment}\n");
  bench.assign("instance=a", "one");
  bench.assign("instance=b", "two");
  place(bench);  // b has not joined, and one of the recipes has its state
  const auto session = bench.join("b");
  CHECK(must(backend::fleet::place_instance(*bench, session.instance)).changed.empty());
  const auto rejected = find(bench, "b");
  CHECK(rejected.status == "rejected");
  CHECK(rejected.recipe_version == 0);
  CHECK(rejected.errors.at(0).find("a wait that can never end: ") == 0);
  CHECK(must(bench->fleet("", bench.now)).rejected == 1);

  bench.push("two", comments("y"));
  CHECK(place(bench).changed.size() == 1);
  CHECK(find(bench, "b").status == "new");
}

STORE_TEST_CASE("a recipe for ten thousand machines is one row, and theirs") {
  StoreBench bench;
  must(bench->transact([&]() -> base::Result<void> {
    for (int i = 0; i < 10'000; ++i)
      bench.join("web" + std::to_string(i), {{"role", "web"}});
    return {};
  }));
  bench.push("web", comments("abcdefghij"));
  bench.assign("role=web", "web");
  const auto start = std::chrono::steady_clock::now();
  must(bench->transact([&]() -> base::Result<void> {
    CHECK(place(bench).changed.size() == 10'000);
    return {};
  }));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  MESSAGE("10,000 machines placed in " << took.count() << " s");
  CHECK(find(bench, "web1").placement == find(bench, "web9999").placement);
}

STORE_TEST_CASE("what nobody runs any more is removed, and made again when it is wanted") {
  StoreBench bench;
  bench.join("web1");
  bench.push("web", comments("a"));
  const auto assignment = bench.assign("*", "web");
  place(bench);
  const auto before = find(bench, "web1").placement;
  must(backend::store::remove_assignment(*bench, assignment.id, {}));
  place(bench);
  CHECK(must(backend::store::purge(*bench, {})).rows == 1);
  CHECK_FALSE(bench->find_placement(before));
  bench.assign("*", "web");
  place(bench);
  CHECK(states_of(bench, "web1") == "[" + std::string(kA) + "]");
}
