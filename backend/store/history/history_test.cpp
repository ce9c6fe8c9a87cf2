// A database that was put back from a backup, as its agents show it.
//
// Compiled alone: its names are those of other tests.
#include "backend/store/history/history.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "backend/store/history/audit.hpp"
#include "backend/store/inventory/apps.hpp"
#include "tests/support/rollout_bench.hpp"

using namespace backend;
using tests::must;
using tests::RolloutBench;

namespace {

class Bench : public RolloutBench {
 public:
  std::string mark() { return must(store::history_mark(*store)); }
  // "" when nothing is noticed.
  std::string look(const std::string& said) {
    return must(store::look_at_mark(*store, said, "default/m0", now));
  }
  void change(const std::string& what) {
    must(store::add_audit(
        *store, {.at = ++now, .actor = "ann", .action = "recipe.push", .object = what, .detail = ""}));
  }
  void back_up() {
    store.reset();
    copy(folder.path(), backup.path());
    open();
  }
  void put_back() {
    store.reset();
    copy(backup.path(), folder.path());
    open();
  }
  std::size_t noticed() {
    std::size_t rows = 0;
    for (const auto& row : must(store->list_audit({"", domain::kLargestPage})).items)
      rows += row.action == "store.put_back";
    return rows;
  }

 private:
  static void copy(const std::string& from, const std::string& to) {
    std::filesystem::remove_all(to);
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
  }

  tests::ScratchFolder backup;
};

}  // namespace

STORE_TEST_CASE(
    "attack: a rollout that was aborted since does not run again when the database was put back") {
  Bench bench;
  bench.join_all(10);
  bench.start(0);
  CHECK(bench.step().orders.size() == 5);
  bench.back_up();
  bench.command(rollouts::RolloutCommand::abort);
  bench.change("the abort");
  const std::string later = bench.mark();
  CHECK(bench.look(later).empty());
  bench.put_back();
  REQUIRE(bench.state() == "running");
  const std::string text = bench.look(later);
  CHECK(text.find("was put back from a backup") != std::string::npos);
  CHECK(text.find("1 rollouts are paused") != std::string::npos);
  CHECK(bench.state() == "paused");
  CHECK(bench.rollout().reason.find("put back") != std::string::npos);
  CHECK(bench.step(10'000).orders.empty());
  CHECK(bench.noticed() == 1);
  // Others who say the same say nothing new.
  CHECK(bench.look(later).empty());
  bench.command(rollouts::RolloutCommand::resume);
  CHECK(bench.look(later).empty());
  CHECK(bench.state() == "running");
}

STORE_TEST_CASE(
    "machines that are still to be told by a rollout that is done wait, too, and pins are lifted") {
  Bench bench;
  bench.join_all(3);
  bench.start(0);
  must(bench->set_offline(bench.sessions["m0"], bench.now));
  for (const domain::UpdateOrder& order : bench.step().orders)
    bench.answer(order.instance, "confirmed");
  bench.step(2000);
  REQUIRE(bench.state() == "done");
  auto app = must(bench->find_app("default"));
  app.agent_version = "2.0";
  must(store::put_app(*bench, app, {}, bench.now));
  bench.back_up();
  bench.change("something");
  const std::string later = bench.mark();
  bench.put_back();
  CHECK(bench.look(later).find("default (2.0)") != std::string::npos);
  CHECK(bench.state() == "paused");
  CHECK_FALSE(bench.come("m0", "1.2.3"));
  CHECK(must(bench->find_app("default")).agent_version.empty());
  CHECK_FALSE(must(bench->find_pin("default")));
}

STORE_TEST_CASE("each time that a database is put back is noticed once, whichever backup it was") {
  Bench bench;
  bench.change("first");
  bench.back_up();
  bench.change("second");
  const std::string second = bench.mark();
  bench.put_back();
  // As many rows as before, and others.
  bench.change("another second");
  bench.change("third");
  CHECK_FALSE(bench.look(second).empty());
  const std::string third = bench.mark();
  CHECK(bench.look(third).empty());
  bench.put_back();
  CHECK_FALSE(bench.look(third).empty());  // of a history that this one does not know
  CHECK(bench.look(third).empty());
  CHECK(bench.look(second).empty());  // the same time
  bench.back_up();
  bench.change("fourth");
  const std::string fourth = bench.mark();
  bench.put_back();
  CHECK_FALSE(bench.look(fourth).empty());
  CHECK(bench.look(third).empty());
  CHECK(bench.look(second).empty());
}

STORE_TEST_CASE("attack: what a machine makes up about the history changes nothing") {
  Bench bench;
  bench.join_all(5);
  bench.start(0);
  bench.change("first");
  const std::string real = bench.mark();
  for (const std::string& said :
       {std::string(), std::string("x"),
        std::string("0123456789abcdef.999999.0123456789abcdef.") + std::string(32, '0'),
        real.substr(0, real.size() - 1) + (real.back() == '0' ? "1" : "0"), real + ".1"})
    CHECK(bench.look(said).empty());
  CHECK(bench.look(real).empty());
  CHECK(bench.state() == "running");
  CHECK(bench.noticed() == 0);
}

STORE_TEST_CASE("attack: a number that a database which was put back gives again stands for no old report") {
  Bench bench;
  bench.push("web", "states: [{id: a, module: meta.comment, parameter: {comment: one}}]");
  bench.assign("*", "web");
  auto session = bench.join("m0");
  must(fleet::place_instance(*bench, session.instance));
  bench.back_up();
  bench.push("web", "states: [{id: a, module: meta.comment, parameter: {comment: two}}]");
  must(fleet::place_app(*bench, "default"));
  auto hello = tests::StoreBench::handshake("m0");
  const auto had = must(bench->find_instance(session.instance));
  hello.recipe_version = had.recipe_version;
  hello.recipe_digest = had.recipe_digest;
  bench.put_back();
  bench.push("web", "states: [{id: a, module: meta.comment, parameter: {comment: three}}]");
  must(fleet::place_app(*bench, "default"));
  REQUIRE(must(bench->find_instance(session.instance)).recipe_version == had.recipe_version);
  session = bench.admit(hello).session;
  const auto now = must(bench->find_instance(session.instance));
  CHECK(now.recipe_version == had.recipe_version + 1);
  const std::vector<domain::Report> late{tests::StoreBench::log(1, "a", true, had.recipe_version)};
  must(bench->store_reports(session, late, bench.now));
  const auto progress = must(bench->instance_progress(session.instance));
  CHECK(progress.recipe_version == now.recipe_version);
  for (const domain::StateStanding& state : progress.states)
    CHECK(state.done_version != progress.recipe_version);
}
