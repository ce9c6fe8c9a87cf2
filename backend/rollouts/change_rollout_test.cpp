// Rollouts of recipes and assignments over a real database, which is closed and opened again between steps.
#include "backend/rollouts/change_rollout.hpp"

#include "backend/store/inventory/instances.hpp"
#include "tests/support/change_bench.hpp"

using namespace backend;
using namespace backend::rollouts;
using tests::must;
using Bench = tests::ChangeBench;
using Names = std::set<std::string>;

STORE_TEST_CASE(
    "a revision goes through its rings, over any number of restarts, and each machine gets it once") {
  for (const std::size_t count : {1U, 3U, 12U, 60U}) {
    CAPTURE(count);
    Bench bench;
    bench.begin(count);
    const auto placed = bench.roll_out(Bench::recipe("two"));
    REQUIRE(placed);
    CHECK(placed->affected == count);
    CHECK(placed->placed.changed.empty());
    const auto sizes = bench.rollout().rings;
    std::size_t given = 0;
    for (std::size_t ring = 0; ring < sizes.size(); ++ring) {
      const Names now = bench.step();
      CHECK(now.size() == sizes[ring]);
      given += now.size();
      CHECK(bench.count_running("two") == given);
      CHECK(bench.step(1).empty());
      for (const std::string& name : now)
        bench.converge(name);
      if (ring + 1 == sizes.size()) break;
      CHECK(bench.step(1).empty());  // the pause begins
      CHECK(bench.step(59).empty());
      bench.now += 1000;
    }
    bench.step();
    CHECK(bench.state() == "done");
    CHECK(bench.count_running("two") == count);
    for (const auto& [name, session] : bench.sessions)
      CHECK(bench.machine(name).recipe_version == 2);
    CHECK_FALSE((bench.step(1000), bench.news.any_active));
  }
}

STORE_TEST_CASE(
    "with one of ten machines bad a revision stops in the first ring, and rollback brings it back") {
  Bench bench;
  bench.begin(200);
  REQUIRE(bench.roll_out(Bench::recipe("two")));
  CHECK(bench.rollout().rings == std::vector<std::size_t>{44, 56, 100});
  const Names canaries = bench.step();
  REQUIRE(canaries.size() == 44);
  std::size_t bad = 0;
  for (const std::string& name : canaries)
    if (name.ends_with("3")) {
      bench.fail(name);
      ++bad;
    } else {
      bench.converge(name);
    }
  REQUIRE(bad > 0);
  CHECK(bench.step(1).empty());
  CHECK(bench.state() == "stopped");
  CHECK(bench.rollout().ring == 0);
  CHECK(bench.rollout().reason.find("failed") != std::string::npos);
  const auto evidence = must(bench->failed_targets(bench.rollout(), 100));
  CHECK(evidence.size() == bad);
  CHECK(evidence[0].error == "state 'a' failed: no such file");
  CHECK(must(bench->list_audit({})).items[0].action == "rollout.stop");
  for (int i = 0; i < 3; ++i)
    CHECK(bench.step(1000).empty());
  CHECK(bench.count_running("two") == 44);
  for (const auto& [name, session] : bench.sessions)
    if (!canaries.contains(name)) CHECK(bench.machine(name).recipe_version == 1);

  // The old content once more: those who have it already do not even notice.
  ChangeTerms back;
  back.supersedes = true;
  const auto placed = bench.roll_out(Bench::recipe("one"), back);
  REQUIRE(placed);
  CHECK_FALSE(placed->rollout);
  CHECK(placed->affected == 44);
  CHECK(bench.state() == "ended");
  CHECK(bench.count_running("one") == 200);
  for (const auto& [name, session] : bench.sessions)
    CHECK(bench.machine(name).recipe_version == (canaries.contains(name) ? 3 : 1));
}

STORE_TEST_CASE(
    "machines that come or are tagged in the middle of a rollout get the old revision until it is done") {
  Bench bench;
  bench.push("web", Bench::recipe("one"));
  bench.assign("role=web", "web");
  for (int i = 0; i < 12; ++i) {
    const std::string name = "m" + std::to_string(i);
    bench.sessions[name] = bench.join(name, {{"role", "web"}});
    must(fleet::place_instance(*bench, bench.sessions[name].instance));
  }
  bench.join_one("plain");
  REQUIRE(bench.roll_out(Bench::recipe("two")));
  const Names canaries = bench.step();
  REQUIRE(canaries.size() == 5);
  bench.sessions["new"] = bench.join("new", {{"role", "web"}});
  must(fleet::place_instance(*bench, bench.sessions["new"].instance));
  CHECK(bench.runs("new", "one"));
  must(bench->set_operator_tags(bench.sessions["plain"].instance, {{"role", "web"}}));
  must(fleet::place_instance(*bench, bench.sessions["plain"].instance));
  CHECK(bench.runs("plain", "one"));
  for (const std::string& name : canaries)
    bench.converge(name);
  for (int i = 0; i < 30 && bench.state() == "running"; ++i)
    for (const std::string& name : bench.step(60))
      if (name != "new" && name != "plain") bench.converge(name);
  CHECK(bench.state() == "done");
  CHECK(bench.runs("new", "two"));
  CHECK(bench.runs("plain", "two"));
}

STORE_TEST_CASE("canaries that are away or silent let no other ring begin") {
  Bench bench;
  bench.begin(12);
  REQUIRE(bench.roll_out(Bench::recipe("two")));
  const Names canaries = bench.step();
  REQUIRE(canaries.size() == 5);
  for (const std::string& name : canaries)
    bench.leave(name);
  bench.watch.since = bench.now - 10'000'000;
  for (int i = 0; i < 5; ++i)
    CHECK(bench.step(60).empty());
  CHECK(bench.state() == "running");
  CHECK(bench.count_running("two") == 5);
  bench.step(2000);  // nothing was heard for longer than the timeout
  CHECK(bench.state() == "stopped");
  CHECK(bench.in_phase("lost").size() == 5);
  CHECK(bench.rollout().reason.find("lost") != std::string::npos);
}

STORE_TEST_CASE(
    "a machine that is away when its turn comes gets the revision when it is back, or when it is done") {
  Bench bench;
  bench.begin(12);
  bench.leave("m3");
  bench.leave("m7");
  REQUIRE(bench.roll_out(Bench::recipe("two")));
  for (int i = 0; i < 30 && bench.state() == "running"; ++i) {
    for (const std::string& name : bench.step(60))
      if (name != "m3" && name != "m7") bench.converge(name);
    if (bench.state() == "running") CHECK(bench.runs("m3", "one"));
  }
  CHECK(bench.state() == "done");
  CHECK(bench.runs("m3", "two"));
  bench.come("m7");
  CHECK(bench.runs("m7", "two"));
}

STORE_TEST_CASE("attack: a machine says that all is fine with a revision that it was not given") {
  Bench bench;
  bench.begin(12);
  // The next number is easily guessed.
  for (const auto& [name, session] : bench.sessions) {
    bench.converge(name, 2);
    bench.converge(name, 1'000'000);
  }
  REQUIRE(bench.roll_out(Bench::recipe("two")));
  REQUIRE(bench.step(1).size() == 5);
  for (int i = 0; i < 5; ++i)
    CHECK(bench.step(60).empty());
  CHECK(bench.in_phase("confirmed").empty());
  CHECK(bench.rollout().ring == 0);
}

STORE_TEST_CASE(
    "attack: a machine that says it failed stops others' rollout; it is excluded, and it goes on") {
  Bench bench;
  bench.begin(12);
  REQUIRE(bench.roll_out(Bench::recipe("two")));
  const Names canaries = bench.step();
  const std::string liar = *canaries.begin();
  for (const std::string& name : canaries)
    name == liar ? bench.fail(name) : bench.converge(name);
  bench.step(1);
  REQUIRE(bench.state() == "stopped");
  const std::vector<std::string> liars{liar};
  CHECK(must(bench->exclude_targets(bench.rollout(), liars)) == 1);
  bench.command(RolloutCommand::resume);
  for (int i = 0; i < 30 && bench.state() == "running"; ++i)
    for (const std::string& name : bench.step(60))
      bench.converge(name);
  CHECK(bench.state() == "done");
  CHECK(bench.count_running("two") == 12);
}

STORE_TEST_CASE(
    "attack: a machine that was not told cannot stop a rollout, nor with another recipe's state") {
  Bench bench;
  bench.begin(12);
  bench.push("other", Bench::recipe("theirs", "b"));
  bench.assign("*", "other");
  must(fleet::place_app(*bench, "default"));
  REQUIRE(bench.roll_out(Bench::recipe("two")));
  const Names canaries = bench.step();
  REQUIRE(canaries.size() == 5);
  for (const auto& [name, session] : bench.sessions)
    if (!canaries.contains(name)) bench.fail(name, "a", bench.machine(name).recipe_version + 1);
  for (const std::string& name : canaries)
    bench.fail(name, "b");
  bench.step(1);
  CHECK(bench.state() == "running");
  CHECK(bench.in_phase("failed").empty());
  CHECK(bench.rollout().ring == 0);
}

STORE_TEST_CASE("attack: a report of an update does not close the row of a change") {
  Bench bench;
  bench.begin(3);
  REQUIRE(bench.roll_out(Bench::recipe("two")));
  const Names given = bench.step();
  protocol::UpdateStatus status;
  status.action_id = bench.id;
  status.phase = protocol::UpdatePhase::confirmed;
  bench.send(*given.begin(), status);
  CHECK(bench.in_phase("told").size() == given.size());
}

STORE_TEST_CASE(
    "a push in the middle of a rollout of the same recipe is refused; a rollback takes its place") {
  Bench bench;
  bench.begin(12);
  REQUIRE(bench.roll_out(Bench::recipe("two")));
  const Names canaries = bench.step();
  CHECK_FALSE(bench.roll_out(Bench::recipe("three")));
  CHECK(bench.refused.find("rollout " + bench.id + " of web@2 is running") != std::string::npos);
  CHECK(bench.refused.find("opsctl recipe rollback web") != std::string::npos);
  CHECK_FALSE(bench.roll_out(Bench::recipe("three"), Bench::at_once()));
  CHECK(must(bench->find_revision_row("web", std::nullopt)).revision == 2);  // nothing was left behind
  ChangeTerms back;
  back.supersedes = true;
  const auto placed = bench.roll_out(Bench::recipe("one"), back);
  REQUIRE(placed);
  CHECK(placed->placed.changed.size() == canaries.size());
  CHECK(bench.count_running("one") == 12);
  CHECK(bench.step(60).empty());
}

STORE_TEST_CASE(
    "a push after a stop takes its place: who had the bad revision waits for its turn with the old one") {
  Bench bench;
  bench.begin(12);
  REQUIRE(bench.roll_out(Bench::recipe("two")));
  for (const std::string& name : bench.step())
    bench.fail(name);
  bench.step(1);
  REQUIRE(bench.state() == "stopped");
  const std::string stopped = bench.id;
  REQUIRE(bench.roll_out(Bench::recipe("three")));
  CHECK(bench.count_running("one") == 12);
  CHECK(bench.rollout().change.from_revision == 1);
  CHECK(must(bench->find_rollout(stopped)).state == domain::RolloutState::ended);
  CHECK(must(bench->find_rollout(stopped)).reason == "web@3 took its place");
  CHECK(bench.step().size() == 5);
  CHECK(bench.count_running("three") == 5);
  CHECK(bench.count_running("two") == 0);
}

STORE_TEST_CASE("after an abort a new assignment gives the old revision, and the next push is everybody's") {
  Bench bench;
  bench.begin(12);
  REQUIRE(bench.roll_out(Bench::recipe("two")));
  const Names canaries = bench.step();
  bench.command(RolloutCommand::abort);
  CHECK(bench.step(1000).empty());
  CHECK(bench.count_running("two") == 5);
  const auto everybody = must(bench->assignments_in_order("default"))[0];
  must(store::remove_assignment(*bench, everybody.id, std::nullopt));
  must(fleet::place_app(*bench, "default"));
  CHECK(bench.count_running("one") == 0);
  bench.assign("instance=m*", "web");
  must(fleet::place_app(*bench, "default"));
  CHECK(bench.count_running("one") == 7);
  CHECK(bench.count_running("two") == 5);
  REQUIRE(bench.roll_out(Bench::recipe("three"), Bench::at_once()));
  CHECK(bench.count_running("three") == 12);
  CHECK(must(bench->held_changes("default")).empty());
}

STORE_TEST_CASE("pause gives it to nobody else, resume goes on") {
  Bench bench;
  bench.begin(12);
  REQUIRE(bench.roll_out(Bench::recipe("two")));
  for (const std::string& name : bench.step())
    bench.converge(name);
  bench.command(RolloutCommand::pause);
  for (int i = 0; i < 3; ++i)
    CHECK(bench.step(100).empty());
  CHECK(bench.count_running("two") == 5);
  bench.command(RolloutCommand::resume);
  bench.step();
  CHECK(bench.step(60).size() == 1);
  const auto refused = command_rollout(*bench, bench.id, RolloutCommand::resume, "ann", bench.now);
  CHECK_FALSE(refused);
}

STORE_TEST_CASE(
    "a rollout of a recipe does not stand in the way of one of a version, nor the other way round") {
  Bench bench;
  bench.begin(12);
  REQUIRE(bench.roll_out(Bench::recipe("two")));
  bench.step();
  for (const auto& [name, session] : bench.sessions) {
    CHECK(must(bench->active_rollout_of(session.instance)).empty());
    CHECK_FALSE(must(bench->newest_target_of(session.instance)));
  }
  domain::Rollout version;
  version.id = "v1";
  version.app_id = "default";
  version.selector = "*";
  version.version = "2.0";
  version.rings = {12};
  std::vector<domain::RolloutTarget> targets;
  for (const auto& [name, session] : bench.sessions) {
    domain::RolloutTarget& target = targets.emplace_back();
    target.instance = session.instance;
    target.instance_id = name;
  }
  must(bench->add_rollout(version, targets));
  CHECK(bench.in_phase("superseded").empty());
  CHECK(must(bench->conflicting_rollout(must(bench->find_rollout("v1")))).empty());
}

STORE_TEST_CASE("retention keeps a rollout that holds, or everybody would get the bad revision") {
  Bench bench;
  bench.begin(12);
  REQUIRE(bench.roll_out(Bench::recipe("two")));
  for (const std::string& name : bench.step())
    bench.fail(name);
  bench.step(1);
  REQUIRE(bench.state() == "stopped");
  CHECK(must(bench->remove_ended_rollout(bench.now + 1'000'000)) == 0);
  bench.command(RolloutCommand::abort);
  CHECK(must(bench->remove_ended_rollout(bench.now + 1'000'000)) == 0);
  must(fleet::place_app(*bench, "default"));
  CHECK(bench.count_running("two") == 5);
  REQUIRE(bench.roll_out(Bench::recipe("three"), Bench::at_once()));
  CHECK(must(bench->remove_ended_rollout(bench.now + 1'000'000)) == 1);
  CHECK(bench.count_running("three") == 12);
}

STORE_TEST_CASE(
    "a database that was put back pauses a rollout of a recipe, and takes back none that is done") {
  Bench bench;
  bench.begin(12);
  REQUIRE(bench.roll_out(Bench::recipe("two")));
  bench.step();
  CHECK(must(bench->hold_rollouts("put back")) == 1);
  CHECK(bench.state() == "paused");
  CHECK(bench.step(1000).empty());
  CHECK(bench.count_running("two") == 5);
  bench.command(RolloutCommand::resume);
  for (const auto& [name, session] : bench.sessions)
    if (bench.runs(name, "two")) bench.converge(name);
  for (int i = 0; i < 30 && bench.state() == "running"; ++i)
    for (const std::string& name : bench.step(60))
      bench.converge(name);
  REQUIRE(bench.state() == "done");
  CHECK(must(bench->hold_rollouts("put back")) == 0);
  must(fleet::place_app(*bench, "default"));
  CHECK(bench.count_running("two") == 12);
}

STORE_TEST_CASE("what is refused for all at once is refused for rings, too, and changes nothing") {
  Bench bench;
  bench.begin(3);
  CHECK_FALSE(bench.roll_out("states:\n- {id: a, module: meta.wait, parameter: {state: [m0/nothing]}}\n"));
  CHECK(bench.refused.find("nothing") != std::string::npos);
  CHECK(must(bench->find_revision_row("web", std::nullopt)).revision == 1);
  CHECK(must(bench->held_changes("default")).empty());
}

STORE_TEST_CASE("an app's rings hold for its changes, small fleets go at once") {
  Bench bench;
  bench.begin(49);
  auto app = must(bench->find_app("default"));
  CHECK(app.rings == std::vector<int>{10, 50, 100});  // of a new installation
  auto placed = bench.roll_out(Bench::recipe("two"), {});
  REQUIRE(placed);
  CHECK_FALSE(placed->rollout);
  CHECK(bench.count_running("two") == 49);
  bench.join_one("m49");
  app.rings = {20, 100};
  must(bench->write_app(app, bench.now));
  placed = bench.roll_out(Bench::recipe("three"), {});
  REQUIRE(placed);
  REQUIRE(placed->rollout);
  CHECK(placed->rollout->rings == std::vector<std::size_t>{12, 38});
  bench.command(RolloutCommand::abort);
  app.rings = {};
  must(bench->write_app(app, bench.now));
  placed = bench.roll_out(Bench::recipe("four"), {});
  REQUIRE(placed);
  CHECK_FALSE(placed->rollout);
  CHECK(bench.count_running("four") == 50);
}

STORE_TEST_CASE("an assignment is made, edited and removed ring by ring") {
  Bench bench;
  bench.push("web", Bench::recipe("one"));
  bench.push("db", Bench::recipe("two", "b"));
  bench.join_all(12);
  const auto go = [&](domain::HeldChange change) {
    auto placed = must(place_change(*bench, {.app_id = "default",
                                             .selector = "*",
                                             .change = std::move(change),
                                             .created_by = "ann",
                                             .owner = "",
                                             .terms = Bench::in_rings(),
                                             .now = bench.now}));
    REQUIRE(placed.rollout);
    bench.id = placed.rollout->id;
    CHECK(placed.rollout->kind == domain::RolloutKind::assignment);
  };
  const auto finish = [&] {
    for (int i = 0; i < 30 && bench.state() == "running"; ++i)
      for (const std::string& name : bench.step(60))
        bench.converge(name);
    CHECK(bench.state() == "done");
  };
  domain::Assignment made = bench.assign("*", "web");
  go({.assignment = made.id});
  CHECK(bench.count_running("one") == 0);
  CHECK(bench.step().size() == 5);
  CHECK(bench.count_running("one") == 5);
  for (const auto& [name, session] : bench.sessions)
    if (bench.runs(name, "one")) bench.converge(name);
  finish();
  CHECK(bench.count_running("one") == 12);

  domain::Assignment edited = made;
  edited.recipe = "db";
  must(store::edit_assignment(*bench, edited, std::nullopt));
  go({.assignment = made.id, .before = made});
  bench.push("web", Bench::recipe("one more"));  // those who wait do not follow it on
  Names given = bench.step();
  CHECK(given.size() == 5);
  CHECK(bench.count_running("two") == 5);
  CHECK(bench.count_running("one") == 7);
  for (const std::string& name : given)
    bench.fail(name, "b");
  bench.step(1);
  CHECK(bench.state() == "stopped");

  // Back to what it was, and from there away.
  must(store::edit_assignment(*bench, made, std::nullopt));
  go({.assignment = made.id, .before = edited});
  CHECK(bench.count_running("two") == 0);
  bench.command(RolloutCommand::abort);
  must(store::remove_assignment(*bench, made.id, std::nullopt));
  go({.assignment = made.id, .before = made});
  given = bench.step();
  CHECK(given.size() == 5);
  CHECK(bench.count_running("one") == 7);
  for (const std::string& name : given)
    bench.converge(name);
  finish();
  CHECK(bench.count_running("one") == 0);
}

STORE_TEST_CASE(
    "a revision whose waits need machines of later rings stops with the reason, and nobody has it") {
  Bench bench;
  bench.begin(12);
  ChangeTerms terms = Bench::in_rings();
  terms.canary = must(domain::Selector::parse("instance!=m0")).strict();
  REQUIRE(
      bench.roll_out("states:\n- {id: n, module: meta.comment}\n"
                     "- {id: a, module: meta.wait, parameter: {state: [m0/n]}}\n",
                     terms));
  CHECK(bench.step().empty());
  CHECK(bench.state() == "stopped");
  CHECK(bench.rollout().reason.find("cannot be given it one after the other") != std::string::npos);
  CHECK(bench.in_phase("waiting").size() == 12);
  CHECK(bench.count_running("one") == 12);
}
