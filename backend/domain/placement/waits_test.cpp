// Compiled alone: its names are those of other tests.
#include "backend/domain/placement/waits.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "backend/store/history/housekeeping.hpp"
#include "tests/support/store_bench.hpp"

namespace {

using backend::domain::InstanceProgress;
using backend::domain::Report;
using backend::domain::Satisfied;
using backend::domain::WaitIndex;
using tests::must;
using tests::StoreBench;

using List = std::shared_ptr<const backend::domain::StateList>;

List list(const std::string& json) {
  return must(backend::domain::read_states(json));
}
const char* const kDb = R"([{"id":"install"},{"id":"schema"},{"id":"after"}])";
const char* const kWeb =
    R"([{"id":"base"},{"id":"w","module":"meta.wait","parameter":{"state":["db1/schema","db2/schema"]}}])";
const char* const kAll =
    R"([{"id":"w","module":"meta.wait","parameter":{"state":{"selector":"role=db","state_id":"schema"}}}])";

InstanceProgress machine(backend::domain::InstanceKey key, const std::string& id, std::int64_t version = 1) {
  InstanceProgress progress;
  progress.key = key;
  progress.app_id = "default";
  progress.instance_id = id;
  progress.recipe_version = version;
  if (id.starts_with("db")) progress.tags["role"] = "db";
  return progress;
}
Report done(const std::string& id, std::int64_t version = 1) {
  return StoreBench::log(1, id, true, version);
}
Report failed(const std::string& id) {
  return StoreBench::log(1, id, false);
}
bool is_open(const WaitIndex& index, backend::domain::InstanceKey key) {
  return !index.waits_of(key).at(0).satisfied_at.has_value();
}

std::vector<protocol::StateRef> listed(const WaitIndex& index) {
  const auto list = index.wait_list(1);
  REQUIRE(list);
  return list->waited;
}

}  // namespace

TEST_CASE("attack: every open wait is named as itself, however many machines the one before it waits for") {
  WaitIndex index;
  index.set_instance(
      machine(1, "web1"),
      list(
          R"([{"id":"first","module":"meta.wait","parameter":{"state":{"selector":"role=db","state_id":"schema"}}},
               {"id":"second","module":"meta.wait","parameter":{"state":["other/base"]}},
               {"id":"third","module":"meta.wait","parameter":{"state":["done/base"]}}])"),
      0);
  const auto db = list(kDb), base = list(R"([{"id":"base"}])");
  for (int i = 0; i < 3000; ++i)
    index.set_instance(machine(10 + i, "db" + std::to_string(i)), db, 0);
  index.set_instance(machine(2, "other"), base, 0);
  index.set_instance(machine(3, "done"), base, 0);
  index.on_report(3, done("base"), 1);
  const auto names = listed(index);
  CHECK(names.size() <= 2000);
  const auto has = [&](const protocol::StateRef& wanted) {
    return std::ranges::find(names, wanted) != names.end();
  };
  CHECK(has({"web1", "first"}));
  CHECK(has({"web1", "second"}));
  CHECK(has({"other", "base"}));  // what an agent of version 1 looks for
  CHECK_FALSE(has({"web1", "third"}));
  CHECK_FALSE(has({"done", "base"}));
}

TEST_CASE("of more open waits than a message can name there is no list") {
  WaitIndex index;
  std::string states;
  for (int i = 0; i < 1001; ++i)
    states += (states.empty() ? "[" : ",") + std::string(R"({"id":"w)") + std::to_string(i) +
              R"(","module":"meta.wait","parameter":{"state":["db1/schema"]}})";
  index.set_instance(machine(1, "web1"), list(states + "]"), 0);
  CHECK_FALSE(index.wait_list(1));
  CHECK(index.waits_of(1).size() == 1001);
  CHECK_FALSE(index.wait_list(99));
}

TEST_CASE("a wait is satisfied when all that it waits for is done") {
  WaitIndex index;
  index.set_instance(machine(1, "web1", 5), list(kWeb), 0);
  index.set_instance(machine(2, "db1"), list(kDb), 0);
  index.set_instance(machine(3, "db2"), list(kDb), 0);
  CHECK(index.wait_list(1)->recipe_version == 5);
  CHECK(listed(index) ==
        std::vector<protocol::StateRef>{{"web1", "w"}, {"db1", "schema"}, {"db2", "schema"}});
  CHECK(index.on_report(2, done("install"), 10).empty());
  CHECK(index.on_report(2, done("schema"), 10).empty());
  CHECK(listed(index) == std::vector<protocol::StateRef>{{"web1", "w"}, {"db2", "schema"}});
  CHECK(index.open_count() == 1);
  const auto satisfied = index.on_report(3, done("schema"), 20);
  REQUIRE(satisfied.size() == 1);
  CHECK(satisfied[0].instance == 1);
  CHECK(satisfied[0].recipe_version == 5);
  CHECK(satisfied[0].state_id == "w");
  CHECK(index.waits_of(1).at(0).satisfied_at == 20);
  CHECK(index.on_report(3, done("schema"), 30).empty());
  CHECK(index.open_count() == 0);
  CHECK(index.waiting_instances() == std::vector<backend::domain::InstanceKey>{1});
}

TEST_CASE("failures, other versions and other machines do not satisfy a wait") {
  WaitIndex index;
  index.set_instance(machine(1, "web1"), list(kAll), 0);
  index.set_instance(machine(2, "db1", 2), list(kDb), 0);
  index.set_instance(machine(3, "other"), list(kDb), 0);
  CHECK(index.on_report(2, done("schema", 1), 1).empty());
  CHECK(index.on_report(2, StoreBench::log(1, "schema", false, 2), 1).empty());
  CHECK(index.on_report(3, done("schema"), 1).empty());
  CHECK(index.on_report(99, done("schema"), 1).empty());
  CHECK(index.on_report(2, done("schema", 2), 1).size() == 1);
}

TEST_CASE("a later state's report shows that the earlier ones are done, as a whole round does") {
  WaitIndex index;
  index.set_instance(machine(1, "web1"), list(kAll), 0);
  index.set_instance(machine(2, "db1"), list(kDb), 0);
  CHECK(index.on_report(2, failed("schema"), 1).empty());
  CHECK(index.on_report(2, failed("after"), 1).size() == 1);

  WaitIndex rounds;
  rounds.set_instance(machine(1, "web1"), list(kAll), 0);
  rounds.set_instance(machine(2, "db1"), list(kDb), 0);
  protocol::RoundEnd end;
  end.recipe_version = 1;
  end.counts = {{"kept", 2}};
  end.not_reached = 1;
  CHECK(rounds.on_report(2, end, 1).empty());
  end.not_reached = 0;
  CHECK(rounds.on_report(2, end, 1).size() == 1);
}

TEST_CASE("a wait is open again when the awaited machine gets another recipe") {
  WaitIndex index;
  const auto db = list(kDb);
  index.set_instance(machine(1, "web1"), list(kAll), 0);
  index.set_instance(machine(2, "db1"), db, 0);
  CHECK(index.on_report(2, done("schema"), 1).size() == 1);
  index.set_instance(machine(2, "db1", 2), db, 2);
  CHECK(is_open(index, 1));
  CHECK(index.on_report(2, done("schema", 1), 3).empty());
  CHECK(index.on_report(2, done("schema", 2), 4).size() == 1);
}

TEST_CASE("a selector means those that match now, and at least one") {
  WaitIndex index;
  const auto db = list(kDb);
  index.set_instance(machine(1, "web1"), list(kAll), 0);
  CHECK(is_open(index, 1));
  CHECK(listed(index) ==
        std::vector<protocol::StateRef>{{"web1", "w"}});  // a selector is no name on the wire
  CHECK(index.waits_of(1).at(0).open == std::vector<protocol::StateRef>{{"selector: role=db", "schema"}});
  index.set_instance(machine(2, "db1"), db, 0);
  index.on_report(2, done("schema"), 1);
  CHECK_FALSE(is_open(index, 1));
  index.set_instance(machine(3, "db2"), db, 2);
  CHECK(is_open(index, 1));
  CHECK(index.remove_instance(3, 3).size() == 1);
  index.set_instance(machine(4, "db3"), list(R"([{"id":"other"}])"), 4);  // has no such state
  CHECK_FALSE(is_open(index, 1));
  auto moved = machine(2, "db1");
  moved.tags.clear();
  index.set_instance(moved, db, 5);
  CHECK(is_open(index, 1));
}

TEST_CASE("an excluded machine holds nobody up, and a revoked one is not there") {
  WaitIndex index;
  const auto db = list(kDb);
  index.set_instance(machine(1, "web1"), list(kAll), 0);
  index.set_instance(machine(4, "app1"), list(kWeb), 0);  // waits for db1 and db2 by name
  auto silent = machine(3, "db2");
  silent.is_excluded = true;
  index.set_instance(silent, db, 0);
  CHECK(is_open(index, 1));  // excluding the only one does not make it true: no database is there yet
  index.set_instance(machine(2, "db1"), db, 0);
  CHECK(index.holders(10).size() == 1);
  CHECK(index.holders(10).at(0).instance == 2);
  CHECK(index.holders(10).at(0).waiting == 2);
  const std::unordered_set<backend::domain::InstanceKey> one{1}, itself{2};
  CHECK(index.holders(10, &one).at(0).waiting == 1);  // as far as these are concerned
  CHECK(index.holders(10, &itself).empty());
  CHECK(index.on_report(2, done("schema"), 5).size() == 2);  // by selector and by name
  CHECK(index.holders(10).empty());

  silent.is_excluded = false;
  index.set_instance(silent, db, 6);
  CHECK(is_open(index, 1));
  CHECK(is_open(index, 4));
  CHECK(index.holders(10).at(0).instance == 3);
  silent.is_out = true;
  CHECK(index.set_instance(silent, db, 7).size() ==
        1);  // the selector's; a name is waited for until it is back
  CHECK_FALSE(is_open(index, 1));
  CHECK(is_open(index, 4));
}

TEST_CASE("a wait for a machine that has not joined is open until it has") {
  WaitIndex index;
  index.set_instance(machine(1, "web1"), list(kWeb), 0);
  CHECK(listed(index).size() == 3);
  index.set_instance(machine(2, "db1"), list(kDb), 0);
  index.set_instance(machine(3, "db2"), list(kDb), 0);
  index.on_report(2, done("after"), 1);
  CHECK(index.on_report(3, done("after"), 1).size() == 1);
}

TEST_CASE("all machines with one recipe are told, and one that joins later finds it done") {
  WaitIndex index;
  const auto web = list(kAll);
  for (backend::domain::InstanceKey key = 1; key <= 5; ++key)
    index.set_instance(machine(key, "web" + std::to_string(key)), web, 0);
  index.set_instance(machine(9, "db1"), list(kDb), 0);
  CHECK(index.on_report(9, done("schema"), 7).size() == 5);
  index.set_instance(machine(6, "web6"), web, 8);
  CHECK(index.waits_of(6).at(0).satisfied_at == 7);
  for (backend::domain::InstanceKey key = 1; key <= 6; ++key)
    index.remove_instance(key, 9);
  CHECK(index.waiting_instances().empty());
  index.set_instance(machine(7, "web7"), list(kAll), 10);
  CHECK(index.waits_of(7).at(0).satisfied_at == 7);
}

TEST_CASE("waits are the same after a restart, even when retention has removed the results") {
  StoreBench bench;
  const auto db = bench.join("db1", {{"role", "db"}});
  bench.join("web1");
  bench.push("db", "states: [{id: install, module: meta.comment}, {id: schema, module: meta.comment}]");
  bench.push(
      "web",
      "states: [{id: w, module: meta.wait, parameter: {state: {selector: role=db, state_id: schema}}}]");
  bench.assign("role=db", "db");
  bench.assign("instance=web1", "web");
  must(backend::fleet::place_app(*bench, "default"));
  const auto load = [&] {
    WaitIndex index;
    auto reader = bench.reader();
    std::vector<InstanceProgress> all;
    must(reader->each_instance_progress([&](const InstanceProgress& each) { all.push_back(each); }));
    for (const InstanceProgress& each : all)
      index.set_instance(each, list(must(reader->find_placement(each.placement)).states), 99);
    return index;
  };
  const auto web = must(bench->find_instance("default", "web1")).key;
  CHECK(is_open(load(), web));
  const std::vector<Report> reports{StoreBench::log(1, "install"), StoreBench::log(2, "schema"),
                                    StoreBench::log(3, "other")};
  must(bench->store_reports(db, reports, bench.now));
  must(backend::store::purge(*bench, {.oldest = bench.now + 1}));
  bench.open();
  REQUIRE(must(bench->list_results({}, {})).items.size() == 1);  // the newest stays, for its id
  CHECK(load().waits_of(web).at(0).satisfied_at == bench.now);

  bench.push("db", "states: [{id: schema, module: meta.comment}]");
  must(backend::fleet::place_app(*bench, "default"));
  CHECK(is_open(load(), web));
}

TEST_CASE("attack: a machine is waited for by a tag that somebody with a scope has set, and is not") {
  WaitIndex index;
  index.set_instance(machine(1, "web1"), list(kAll), 0);
  const auto pretend = [&](backend::domain::InstanceKey key, const std::string& id) {
    InstanceProgress pretender = machine(key, id);
    pretender.tag_scopes = {{"role", "team=a"}};
    index.set_instance(pretender, list(kDb), 0);
  };
  // It lets nobody go on that waits for databases, and holds nobody up.
  pretend(2, "db8");
  CHECK(index.on_report(2, done("schema"), 5).empty());
  CHECK(is_open(index, 1));
  pretend(3, "db9");
  index.set_instance(machine(4, "db1"), list(kDb), 0);
  CHECK(index.on_report(4, done("schema"), 6).size() == 1);
  CHECK_FALSE(is_open(index, 1));
}
