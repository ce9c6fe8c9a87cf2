// Rollouts over a real database, which is closed and opened again between steps.
//
// Compiled alone: its names are those of other tests.
#include "backend/rollouts/rollout_step.hpp"

#include "backend/store/inventory/apps.hpp"
#include "tests/support/rollout_bench.hpp"

using namespace backend;
using namespace backend::rollouts;
using tests::must;
using Bench = tests::RolloutBench;

STORE_TEST_CASE(
    "a rollout goes through its rings, over any number of restarts, and tells each machine once") {
  for (const std::size_t count : {1U, 2U, 3U, 10U, 200U}) {
    CAPTURE(count);
    Bench bench;
    bench.join_all(count);
    bench.start();
    const auto sizes = bench.rollout().rings;
    for (std::size_t ring = 0; ring < sizes.size(); ++ring) {
      auto news = bench.step();
      CHECK(news.orders.size() == sizes[ring]);
      CHECK(bench.step(1).orders.empty());
      for (const domain::UpdateOrder& order : news.orders) {
        CHECK(order.action_id == "r1");
        CHECK(order.version == "2.0");
        bench.answer(order.instance, "downloading");
      }
      CHECK(bench.step(1).orders.empty());
      for (const domain::UpdateOrder& order : news.orders)
        bench.answer(order.instance, "confirmed");
      if (ring + 1 < sizes.size()) {
        CHECK(bench.step(1).orders.empty());  // the pause begins
        CHECK(bench.step(59).orders.empty());
        bench.now += 1000;
      }
    }
    bench.step();
    CHECK(bench.state() == "done");
    CHECK(bench.told.size() == count);
    CHECK_FALSE(bench.step(1000).any_active);
  }
}

STORE_TEST_CASE("the machines of a ring are told one after the other, within the jitter") {
  Bench bench;
  bench.join_all(5);
  bench.start(60, 10);
  std::vector<std::size_t> told;
  for (int second = 0; second < 10; ++second)
    told.push_back(bench.step(second == 0 ? 0 : 1).orders.size());
  CHECK(told == std::vector<std::size_t>{1, 0, 1, 0, 1, 0, 1, 0, 1, 0});
}

STORE_TEST_CASE("two canaries that roll back stop it; whoever resumes it has seen them") {
  Bench bench;
  bench.join_all(20);
  bench.start();
  const auto canaries = bench.step().orders;
  REQUIRE(canaries.size() == 5);
  for (std::size_t i = 0; i < 5; ++i)
    bench.answer(canaries[i].instance, i < 2 ? "rolled_back" : "confirmed");
  const auto stopped = bench.step(1);
  REQUIRE(stopped.changed.size() == 1);
  CHECK(bench.state() == "stopped");
  CHECK(bench.rollout().reason == "2 canaries rolled back");
  CHECK(stopped.counts.at({domain::RolloutKind::version, domain::RolloutState::stopped}) == 1);
  CHECK(must(bench->list_audit({})).items[0].action == "rollout.stop");
  CHECK(bench.step(1000).orders.empty());

  bench.command(RolloutCommand::resume);
  CHECK(bench.state() == "running");
  bench.step();
  CHECK(bench.step(60).orders.size() == 5);
  CHECK(bench.rollout().ring == 1);
}

STORE_TEST_CASE("machines that lie are shown, excluded, and stop it no more") {
  Bench bench;
  bench.join_all(20);
  bench.start();
  const auto canaries = bench.step().orders;
  REQUIRE(canaries.size() == 5);
  for (std::size_t i = 0; i < 5; ++i)
    bench.answer(canaries[i].instance, i < 2 ? "rolled_back" : "confirmed");
  bench.step(1);
  REQUIRE(bench.state() == "stopped");
  const auto evidence = must(bench->failed_targets(bench.rollout(), 10));
  REQUIRE(evidence.size() == 2);
  std::vector<std::string> liars;
  for (const domain::RolloutTarget& each : evidence) {
    CHECK(each.phase == "rolled_back");
    liars.push_back(each.instance_id);
  }
  // And one of a later ring, which was not told yet.
  for (const domain::RolloutTarget& each :
       must(bench->list_rollout_targets(bench.rollout(), "waiting", {})).items)
    if (liars.size() < 3) liars.push_back(each.instance_id);
  CHECK(must(bench->exclude_targets(bench.rollout(), liars)) == 3);
  CHECK(bench.in_phase("excluded") == 1);
  CHECK(must(bench->failed_targets(bench.rollout(), 10)).empty());
  const auto counts = must(bench->ring_counts(bench.rollout(), bench.now));
  CHECK(counts.at(0).rolled_back == 0);
  CHECK(counts.at(0).size == 3);

  bench.command(RolloutCommand::resume);
  std::size_t told = 0;
  for (int i = 0; i < 20 && bench.state() == "running"; ++i)
    for (const domain::UpdateOrder& order : bench.step(60).orders) {
      ++told;
      bench.answer(order.instance, "confirmed");
    }
  CHECK(bench.state() == "done");
  CHECK(told == 14);  // all of the later rings but the one that was excluded
}

STORE_TEST_CASE("a machine that is paused after it was told is not lost, and holds nobody up") {
  Bench bench;
  bench.join_all(20);
  bench.start();
  const auto canaries = bench.step().orders;
  REQUIRE(canaries.size() == 5);
  for (std::size_t i = 1; i < 5; ++i)
    bench.answer(canaries[i].instance, "confirmed");
  const domain::InstanceKey paused = canaries[0].instance;
  constexpr std::int64_t kHour = 3'600'000;
  must(bench->set_pause(paused,
                        {.by = "alice", .reason = "x", .since = bench.now, .until = bench.now + kHour}));
  // It would be lost after 900 s.
  CHECK(bench.step(1000).lost.empty());
  CHECK(bench.in_phase("lost") == 0);
  const auto counts = must(bench->ring_counts(bench.rollout(), bench.now));
  CHECK(counts.at(0).paused == 1);
  CHECK(counts.at(0).offline == 1);
  bench.step(60);
  CHECK(bench.rollout().ring == 1);
  const auto targets = must(bench->list_rollout_targets(bench.rollout(), "told", {})).items;
  CHECK(std::ranges::any_of(targets, [&](const auto& each) { return each.paused_until > bench.now; }));
  // Its time begins anew when the pause ends, early or by itself.
  must(bench->set_pause(paused, {.until = bench.now}));
  const auto is_lost = [&] {
    return std::ranges::any_of(must(bench->list_rollout_targets(bench.rollout(), "lost", {})).items,
                               [&](const auto& each) { return each.instance == paused; });
  };
  bench.step(800);
  CHECK_FALSE(is_lost());
  bench.step(200);
  CHECK(is_lost());
}

STORE_TEST_CASE("a machine that is revoked or excluded does not count in a rollout") {
  Bench bench;
  bench.join_all(5);
  bench.start();
  const auto told = bench.step().orders;
  REQUIRE(told.size() == 5);
  bench.answer(told[0].instance, "rolled_back");
  bench.answer(told[1].instance, "rolled_back");
  must(bench->set_excluded(told[0].instance, bench.now, "liar"));
  must(bench->revoke_instance(told[1].instance, "stolen", bench.now));
  for (std::size_t i = 2; i < 5; ++i)
    bench.answer(told[i].instance, "confirmed");
  bench.step(1);
  CHECK(bench.state() == "done");
}

STORE_TEST_CASE("a machine that stays silent is lost, and comes back when it speaks") {
  Bench bench;
  bench.join_all(5);
  bench.start();
  const auto told = bench.step().orders;
  for (std::size_t i = 1; i < 5; ++i)
    bench.answer(told[i].instance, "confirmed");
  bench.answer(told[0].instance, "downloading");
  CHECK(bench.step(899).lost.empty());
  bench.answer(told[0].instance, "restarting");
  CHECK(bench.step(899).lost.empty());
  const auto news = bench.step(2);
  REQUIRE(news.lost.size() == 1);
  CHECK(bench.state() == "done");  // four of five
  bench.answer(told[0].instance, "confirmed");
  CHECK(bench.in_phase("confirmed") == 5);
}

STORE_TEST_CASE("a machine that is connected and works on it is not silent; one that has gone is") {
  Bench bench;
  bench.join_all(5);
  bench.start();
  const auto told = bench.step().orders;
  for (std::size_t i = 2; i < 5; ++i)
    bench.answer(told[i].instance, "confirmed");
  bench.answer(told[0].instance, "draining");  // its state takes hours
  bench.answer(told[1].instance, "draining");
  CHECK(bench.step(10'000).lost.empty());
  for (const auto& [name, session] : bench.sessions)
    if (session.instance == told[1].instance) must(bench->set_offline(session, bench.now));
  CHECK(bench.step(1).lost.empty());  // a connection may break
  CHECK(bench.step(898).lost.empty());
  const auto news = bench.step(2);
  REQUIRE(news.lost.size() == 1);
  bench.answer(told[0].instance, "confirmed");
  CHECK(bench.in_phase("confirmed") == 4);
}

STORE_TEST_CASE("who was told and stays silent is lost, whatever became of the rollout") {
  Bench bench;
  bench.join_all(5);
  bench.start();
  REQUIRE(bench.step().orders.size() == 5);
  bench.command(RolloutCommand::abort);
  CHECK(bench.step(899).lost.empty());
  CHECK(bench.step(2).lost.size() == 5);
  CHECK(bench.state() == "aborted");
  CHECK(bench.step(10'000).lost.empty());
}

STORE_TEST_CASE("what was stopped is not resumed beside another one, nor against a pin") {
  Bench bench;
  bench.join_all(20);
  bench.start();
  const auto canaries = bench.step().orders;
  for (std::size_t i = 0; i < 4; ++i)  // the fifth was told, and has not answered yet
    bench.answer(canaries[i].instance, i < 2 ? "rolled_back" : "confirmed");
  bench.step(1);
  REQUIRE(bench.state() == "stopped");
  const auto resume = [&] {
    return backend::rollouts::command_rollout(*bench.store, "r1", RolloutCommand::resume, "ann", bench.now);
  };
  SUBCASE("another one has its machines") {
    bench.start(60, 0, "r2");
    const auto resumed = resume();
    REQUIRE_FALSE(resumed);
    CHECK(resumed.error().message().find("rollout r2 has machines of this one") != std::string::npos);
    must(backend::rollouts::command_rollout(*bench.store, "r2", RolloutCommand::abort, "ann", bench.now));
    CHECK(resume());
  }
  SUBCASE("the app wants another version") {
    backend::domain::App app{.app_id = "default", .report = "all", .agent_version = "1.2.3"};
    must(backend::store::put_app(*bench, app, std::nullopt, bench.now));
    const auto resumed = resume();
    REQUIRE_FALSE(resumed);
    CHECK(resumed.error().message().find("pins 1.2.3") != std::string::npos);
  }
}

STORE_TEST_CASE("two lost machines stop a small rollout") {
  Bench bench;
  bench.join_all(20);
  bench.start();
  const auto told = bench.step().orders;
  for (std::size_t i = 2; i < 5; ++i)
    bench.answer(told[i].instance, "confirmed");
  bench.step(901);
  CHECK(bench.state() == "stopped");
  CHECK(bench.rollout().reason == "2 of 5 machines that were told are lost");
}

STORE_TEST_CASE(
    "a machine that is away is told when it comes, also when the others are done, and is not lost before") {
  Bench bench;
  bench.join_all(6);
  bench.start(0);
  const auto late = must(bench->list_rollout_targets(bench.rollout(), "", {})).items.back().instance_id;
  must(bench->set_offline(bench.sessions[late], bench.now));
  for (const domain::UpdateOrder& order : bench.step().orders)
    bench.answer(order.instance, "confirmed");
  bench.step();
  CHECK(bench.state() == "done");
  CHECK(bench.step(100'000).lost.empty());
  CHECK(bench.in_phase("waiting") == 1);

  const auto order = bench.come(late, "1.2.3");
  REQUIRE(order);
  CHECK(order->action_id == "r1");
  CHECK(bench.come(late, "1.2.3"));      // it has not closed it
  CHECK_FALSE(bench.come(late, "2.0"));  // it is at it
  bench.report(late, "rolled_back");
  CHECK_FALSE(bench.come(late, "1.2.3"));
  bench.report(late, "confirmed");  // closed is closed
  CHECK(bench.in_phase("rolled_back") == 1);
}

STORE_TEST_CASE("after a restart nobody is connected, and no ring is passed over for that") {
  Bench bench;
  bench.join_all(30);
  bench.start(0, 10);
  for (const int second : {0, 2, 2, 2, 2})
    for (const domain::UpdateOrder& order : bench.step(second).orders)
      bench.answer(order.instance, "confirmed");
  bench.step();  // the second ring begins, and its machines are told one after the other
  REQUIRE(bench.rollout().ring == 1);
  const std::size_t told = bench.told.size();
  must(bench->set_all_offline());
  for (int second = 0; second < 600; second += 60)
    CHECK(bench.step(60).orders.empty());
  CHECK(bench.rollout().ring == 1);
  CHECK(bench.told.size() == told);
  for (const auto& target : must(bench->list_rollout_targets(bench.rollout(), "waiting", {})).items)
    if (target.ring == 1) CHECK(bench.come(target.instance_id, "1.2.3"));
  CHECK(bench.step().orders.empty());
}

STORE_TEST_CASE("attack: a restart of the backend takes nobody for lost who was in the middle of an update") {
  Bench bench;
  bench.join_all(20);
  bench.start();
  const auto told = bench.step().orders;
  for (std::size_t i = 3; i < 5; ++i)
    bench.answer(told[i].instance, "confirmed");
  for (std::size_t i = 0; i < 3; ++i)
    bench.answer(told[i].instance, "draining");  // their states take hours
  CHECK(bench.step(10'000).lost.empty());
  CHECK(must(bench->set_all_offline()).size() == 20);
  bench.watch = {.since = bench.now, .is_settling = true};
  CHECK(bench.step(1).lost.empty());
  CHECK(bench.step(59).lost.empty());
  bench.watch.is_settling = false;
  CHECK(bench.step(800).lost.empty());
  CHECK(bench.state() == "running");
  bench.answer(told[0].instance, "confirmed");
  const auto lost = bench.step(41).lost;  // silent since the start, and that is long enough by now
  CHECK(lost.size() == 2);
  CHECK(bench.state() == "stopped");
}

STORE_TEST_CASE("a rollout from before the start waits until those are back who were connected") {
  Bench bench;
  bench.join_all(20);
  bench.start(0);
  for (const domain::UpdateOrder& order : bench.step().orders)
    bench.answer(order.instance, "confirmed");
  must(bench->set_all_offline());
  bench.now += 1000;
  bench.watch = {.since = bench.now, .is_settling = true};
  // The next ring would begin now, with nobody in it.
  CHECK(bench.step(5).orders.empty());
  CHECK(bench.rollout().ring == 0);
  for (const auto& target : must(bench->list_rollout_targets(bench.rollout(), "", {})).items)
    bench.come(target.instance_id, target.ring == 0 ? "2.0" : "1.2.3");
  CHECK(bench.step(5).orders.empty());
  bench.watch.is_settling = false;
  bench.step();
  CHECK(bench.rollout().ring == 1);
  CHECK(bench.told.size() > 5);
  // One that was started since does not wait.
  Bench fresh;
  fresh.join_all(3);
  fresh.watch = {.since = fresh.now - 1, .is_settling = true};
  fresh.start(0);
  CHECK(fresh.step().orders.size() == 3);
}

STORE_TEST_CASE("a ring that is away as a whole is waited for, and then passed") {
  Bench bench;
  bench.join_all(30);
  bench.start(0);
  for (const auto& target : must(bench->list_rollout_targets(bench.rollout(), "", {})).items)
    if (target.ring == 1) must(bench->set_offline(bench.sessions[target.instance_id], bench.now));
  for (const domain::UpdateOrder& order : bench.step().orders)
    bench.answer(order.instance, "confirmed");
  bench.step();
  CHECK(bench.rollout().ring == 1);
  bench.step(899);
  CHECK(bench.rollout().ring == 1);
  CHECK(bench.step(1).orders.size() == 15);
  CHECK(bench.rollout().ring == 2);
}

STORE_TEST_CASE("a machine that leaves before it is told holds the ring up for a while only") {
  Bench bench;
  bench.join_all(6);
  bench.start(0, 100);
  const auto last = must(bench->list_rollout_targets(bench.rollout(), "", {})).items[4].instance_id;
  must(bench->set_offline(bench.sessions[last], bench.now));
  for (int i = 0; i < 5; ++i)
    for (const domain::UpdateOrder& order : bench.step(20).orders)
      bench.answer(order.instance, "confirmed");
  CHECK(bench.told.size() == 4);
  CHECK(bench.rollout().ring == 0);
  bench.step(900);
  CHECK(bench.rollout().ring == 1);
}

STORE_TEST_CASE("a machine whose turn has not come is not told at its handshake") {
  Bench bench;
  bench.join_all(6);
  bench.start();
  bench.step();
  const auto last = must(bench->list_rollout_targets(bench.rollout(), "waiting", {})).items.at(0).instance_id;
  CHECK_FALSE(bench.come(last, "1.2.3"));
}

STORE_TEST_CASE(
    "one that has the version when its turn comes is done; an agent of version 1 is when it comes with it") {
  Bench bench;
  bench.join_all(2);
  bench.come("m0", "2.0");
  bench.start();
  const auto orders = bench.step().orders;
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].instance == bench.sessions["m1"].instance);
  CHECK_FALSE(bench.come("m1", "2.0", "", true));
  bench.step();
  CHECK(bench.state() == "done");
}

STORE_TEST_CASE("paused in any phase nobody is told; resumed it goes on where it was") {
  for (int phase = 0; phase < 4; ++phase) {
    CAPTURE(phase);
    Bench bench;
    bench.join_all(10);
    bench.start();
    std::vector<domain::UpdateOrder> orders;
    if (phase > 0) orders = bench.step().orders;  // told
    if (phase > 1)
      for (const domain::UpdateOrder& order : orders)
        bench.answer(order.instance, "confirmed");
    if (phase > 2) bench.step();  // between two rings
    bench.command(RolloutCommand::pause);
    CHECK_FALSE(command_rollout(*bench, "r1", RolloutCommand::pause, "ann", bench.now));
    CHECK(bench.step(120).orders.empty());
    if (phase == 1) {  // told at its handshake by nobody, while it is paused
      CHECK_FALSE(bench.come(
          must(bench->list_rollout_targets(bench.rollout(), "told", {})).items[0].instance_id, "1.2.3"));
    }
    const auto resumed = bench.command(RolloutCommand::resume);
    CHECK(resumed.orders.size() == (phase == 1 ? 5 : 0));  // those who may not have heard it
    if (phase == 0) orders = bench.step().orders;
    CHECK(orders.size() == 5);
    for (const domain::UpdateOrder& order : orders)
      if (phase < 2) bench.answer(order.instance, "confirmed");
    bench.step();
    CHECK(bench.step(60).orders.size() == (phase == 3 ? 0 : 5));
    CHECK(bench.rollout().ring == 1);
  }
}

STORE_TEST_CASE("aborted is for good") {
  Bench bench;
  bench.join_all(10);
  bench.start(0);
  const auto orders = bench.step().orders;
  bench.command(RolloutCommand::abort);
  for (const domain::UpdateOrder& order : orders)
    bench.answer(order.instance, "confirmed");
  CHECK(bench.step(1000).orders.empty());
  CHECK(bench.in_phase("confirmed") == 5);  // what was told goes on
  CHECK_FALSE(command_rollout(*bench, "r1", RolloutCommand::resume, "ann", bench.now));
  CHECK_FALSE(bench.come(
      must(bench->list_rollout_targets(bench.rollout(), "waiting", {})).items[0].instance_id, "1.2.3"));
}
