// Rollouts over a real database, which is closed and opened again between steps.
#include "backend/rollout_step.hpp"

#include <map>
#include <set>

#include "backend/rollout_rules.hpp"
#include "backend/schema.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;
using tests::must;

namespace {

constexpr int kPerCent[] = {10, 50, 100};

class Bench : public tests::StoreBench {
 public:
  // `count` machines that are connected with 1.2.3.
  void join_all(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      sessions["m" + std::to_string(i)] = join("m" + std::to_string(i));
  }
  void start(std::int64_t pause_s = 60, std::int64_t jitter_s = 0) {
    std::vector<Candidate> machines;
    for (const auto& [name, session] : sessions)
      machines.push_back({session.instance, name, true, true});
    Rollout rollout;
    rollout.id = "r1";
    rollout.app_id = "default";
    rollout.selector = "*";
    rollout.version = "2.0";
    rollout.pause_s = pause_s;
    rollout.jitter_s = jitter_s;
    rollout.timeout_s = 900;
    rollout.created = now;
    const Rings rings = make_rings(std::move(machines), rollout.version, kPerCent);
    rollout.rings = rings.sizes;
    must(store->begin_ring(must(store->add_rollout(rollout, rings.targets)), now));
  }
  // One step; the database is a new one each time.
  RolloutNews step(std::int64_t seconds = 0) {
    open();
    now += seconds * 1000;
    auto news = must(step_rollouts(*store, now));
    for (const UpdateOrder& order : news.orders)
      CHECK_MESSAGE(told.insert(order.instance).second, "told twice");
    return news;
  }
  // What an agent does when it was told: `phase`, and, if that is "confirmed", a handshake with the new
  // version.
  void answer(InstanceKey instance, const std::string& phase) {
    for (auto& [name, session] : sessions)
      if (session.instance == instance) {
        if (phase == "confirmed") come(name, "2.0");
        report(name, phase);
      }
  }
  std::optional<UpdateOrder> come(const std::string& name, const std::string& version,
                                  const std::string& pinned = {}, bool is_version_1 = false) {
    auto hello = handshake(name);
    hello.agent_version = version;
    sessions[name] = must(store->admit(hello, now)).session;
    return must(
        store->update_for({sessions[name].instance, "default", name, version, is_version_1, pinned}, now));
  }
  void report(const std::string& name, const std::string& phase, const std::string& action = "r1") {
    protocol::UpdateStatus status;
    status.seq = ++seq[name];
    status.action_id = action;
    status.phase = phase;
    const std::vector<Report> reports{status};
    must(store->store_reports(sessions[name], reports, now));
  }
  Rollout rollout() { return must(store->find_rollout("r1")); }
  std::string state() { return std::string(name_of(rollout().state)); }
  std::size_t in_phase(const std::string& phase) {
    return must(store->list_rollout_targets(rollout(), phase, {"", kLargestPage})).items.size();
  }
  Commanded command(RolloutCommand what) { return must(command_rollout(*store, "r1", what, "ann", now)); }

  std::map<std::string, AgentSession> sessions;
  std::map<std::string, std::uint64_t> seq;
  std::set<InstanceKey> told;
};

}  // namespace

TEST_CASE("a rollout goes through its rings, over any number of restarts, and tells each machine once") {
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
      for (const UpdateOrder& order : news.orders) {
        CHECK(order.action_id == "r1");
        CHECK(order.version == "2.0");
        bench.answer(order.instance, "downloading");
      }
      CHECK(bench.step(1).orders.empty());
      for (const UpdateOrder& order : news.orders)
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

TEST_CASE("the machines of a ring are told one after the other, within the jitter") {
  Bench bench;
  bench.join_all(5);
  bench.start(60, 10);
  std::vector<std::size_t> told;
  for (int second = 0; second < 10; ++second)
    told.push_back(bench.step(second == 0 ? 0 : 1).orders.size());
  CHECK(told == std::vector<std::size_t>{1, 0, 1, 0, 1, 0, 1, 0, 1, 0});
}

TEST_CASE("two canaries that roll back stop it; whoever resumes it has seen them") {
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
  CHECK(stopped.states.at("stopped") == 1);
  CHECK(must(bench->list_audit({})).items[0].action == "rollout.stop");
  CHECK(bench.step(1000).orders.empty());

  bench.command(RolloutCommand::resume);
  CHECK(bench.state() == "running");
  bench.step();
  CHECK(bench.step(60).orders.size() == 5);
  CHECK(bench.rollout().ring == 1);
}

TEST_CASE("a machine that stays silent is lost, and comes back when it speaks") {
  Bench bench;
  bench.join_all(5);
  bench.start();
  const auto told = bench.step().orders;
  for (std::size_t i = 1; i < 5; ++i)
    bench.answer(told[i].instance, "confirmed");
  bench.answer(told[0].instance, "downloading");
  CHECK(bench.step(899).lost.empty());
  bench.answer(told[0].instance, "verifying");
  CHECK(bench.step(899).lost.empty());
  const auto news = bench.step(2);
  REQUIRE(news.lost.size() == 1);
  CHECK(bench.state() == "done");  // four of five
  bench.answer(told[0].instance, "confirmed");
  CHECK(bench.in_phase("confirmed") == 5);
}

TEST_CASE("two lost machines stop a small rollout") {
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

TEST_CASE(
    "a machine that is away is told when it comes, also when the others are done, and is not lost before") {
  Bench bench;
  bench.join_all(6);
  bench.start(0);
  const auto late = must(bench->list_rollout_targets(bench.rollout(), "", {})).items.back().instance_id;
  must(bench->set_offline(bench.sessions[late], bench.now));
  for (const UpdateOrder& order : bench.step().orders)
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

TEST_CASE("after a restart nobody is connected, and no ring is passed over for that") {
  Bench bench;
  bench.join_all(30);
  bench.start(0, 10);
  for (const int second : {0, 2, 2, 2, 2})
    for (const UpdateOrder& order : bench.step(second).orders)
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

TEST_CASE("a ring that is away as a whole is waited for, and then passed") {
  Bench bench;
  bench.join_all(30);
  bench.start(0);
  for (const auto& target : must(bench->list_rollout_targets(bench.rollout(), "", {})).items)
    if (target.ring == 1) must(bench->set_offline(bench.sessions[target.instance_id], bench.now));
  for (const UpdateOrder& order : bench.step().orders)
    bench.answer(order.instance, "confirmed");
  bench.step();
  CHECK(bench.rollout().ring == 1);
  bench.step(899);
  CHECK(bench.rollout().ring == 1);
  CHECK(bench.step(1).orders.size() == 15);
  CHECK(bench.rollout().ring == 2);
}

TEST_CASE("a machine that leaves before it is told holds the ring up for a while only") {
  Bench bench;
  bench.join_all(6);
  bench.start(0, 100);
  const auto last = must(bench->list_rollout_targets(bench.rollout(), "", {})).items[4].instance_id;
  must(bench->set_offline(bench.sessions[last], bench.now));
  for (int i = 0; i < 5; ++i)
    for (const UpdateOrder& order : bench.step(20).orders)
      bench.answer(order.instance, "confirmed");
  CHECK(bench.told.size() == 4);
  CHECK(bench.rollout().ring == 0);
  bench.step(900);
  CHECK(bench.rollout().ring == 1);
}

TEST_CASE("a machine whose turn has not come is not told at its handshake") {
  Bench bench;
  bench.join_all(6);
  bench.start();
  bench.step();
  const auto last = must(bench->list_rollout_targets(bench.rollout(), "waiting", {})).items.at(0).instance_id;
  CHECK_FALSE(bench.come(last, "1.2.3"));
}

TEST_CASE(
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

TEST_CASE("paused in any phase nobody is told; resumed it goes on where it was") {
  for (int phase = 0; phase < 4; ++phase) {
    CAPTURE(phase);
    Bench bench;
    bench.join_all(10);
    bench.start();
    std::vector<UpdateOrder> orders;
    if (phase > 0) orders = bench.step().orders;  // told
    if (phase > 1)
      for (const UpdateOrder& order : orders)
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
    for (const UpdateOrder& order : orders)
      if (phase < 2) bench.answer(order.instance, "confirmed");
    bench.step();
    CHECK(bench.step(60).orders.size() == (phase == 3 ? 0 : 5));
    CHECK(bench.rollout().ring == 1);
  }
}

TEST_CASE("aborted is for good") {
  Bench bench;
  bench.join_all(10);
  bench.start(0);
  const auto orders = bench.step().orders;
  bench.command(RolloutCommand::abort);
  for (const UpdateOrder& order : orders)
    bench.answer(order.instance, "confirmed");
  CHECK(bench.step(1000).orders.empty());
  CHECK(bench.in_phase("confirmed") == 5);  // what was told goes on
  CHECK_FALSE(command_rollout(*bench, "r1", RolloutCommand::resume, "ann", bench.now));
  CHECK_FALSE(bench.come(
      must(bench->list_rollout_targets(bench.rollout(), "waiting", {})).items[0].instance_id, "1.2.3"));
}

TEST_CASE("a pinned version is told at the handshake, once, until the pin changes") {
  Bench bench;
  bench.join_all(1);
  const auto pin = [&](const std::string& version) {
    App app = must(bench->find_app("default"));
    app.agent_version = version;
    return must(bench->put_app(app, std::nullopt, bench.now)).agent_version;
  };
  CHECK(pin("3.0") == "3.0");
  CHECK_FALSE(bench.come("m0", "3.0", "3.0"));
  const auto first = bench.come("m0", "1.2.3", "3.0");
  REQUIRE(first);
  CHECK(first->version == "3.0");
  const auto again = bench.come("m0", "1.2.3", "3.0");
  REQUIRE(again);
  CHECK(again->action_id == first->action_id);
  bench.report("m0", "failed", first->action_id);
  const auto second = bench.come("m0", "1.2.3", "3.0");  // a full disk is not the version's fault
  REQUIRE(second);
  CHECK(second->action_id != first->action_id);
  bench.report("m0", "rolled_back", second->action_id);
  CHECK_FALSE(bench.come("m0", "1.2.3", "3.0"));

  pin("");
  CHECK_FALSE(bench.come("m0", "1.2.3", ""));
  pin("3.0");
  const auto new_pin = bench.come("m0", "1.2.3", "3.0");
  REQUIRE(new_pin);
  CHECK(new_pin->action_id != first->action_id);
  CHECK(bench.step().any_pinned);
  CHECK(bench.step(901).lost.size() == 1);
}

TEST_CASE("retention removes rollouts that are over, the oldest first") {
  Bench bench;
  bench.join_all(2);
  bench.start();
  must(bench->purge({.oldest = bench.now + 1'000'000}));
  CHECK(bench.state() == "running");
  bench.command(RolloutCommand::abort);
  must(bench->purge({.oldest = bench.now}));
  CHECK(bench.state() == "aborted");
  must(bench->purge({.oldest = bench.now + 1}));
  CHECK_FALSE(bench->find_rollout("r1"));
  CHECK(must(bench->count_rollouts()).empty());
}

TEST_CASE("updates of a database of version 2 are rollouts that are over") {
  tests::ScratchFolder folder;
  const std::string path = folder / "old.db";
  {
    auto database = must(Database::open(path, Database::Mode::write));
    must(migrate(database, schema_steps().first(2)));
    must(
        database.execute("INSERT INTO updates VALUES ('act1', 'default', '*', '1.9', '', 5000);"
                         "INSERT INTO update_targets VALUES ('act1', 1, 'm1', 'sent', '', NULL, 5000);"
                         "INSERT INTO update_targets VALUES ('act1', 2, 'm2', 'confirmed', '', 1.0, 6000);"));
  }
  const auto store = must(open_sqlite_store(path, Access::write));
  const Rollout old = must(store->find_rollout("act1"));
  CHECK(old.version == "1.9");
  CHECK(old.state == RolloutState::ended);
  const auto targets = must(store->list_rollout_targets(old, "", {})).items;
  REQUIRE(targets.size() == 2);
  CHECK(targets[0].phase == "told");
  CHECK(targets[1].phase == "confirmed");
  CHECK(must(step_rollouts(*store, 9000)).orders.empty());
  CHECK(must(store->find_app("default")).agent_version.empty());
}

TEST_CASE("while a rollout has a machine its app's pin is not told") {
  Bench bench;
  bench.join_all(6);
  bench.start();
  App app = must(bench->find_app("default"));
  app.agent_version = "3.0";
  must(bench->put_app(app, std::nullopt, bench.now));
  const auto last = must(bench->list_rollout_targets(bench.rollout(), "", {})).items.back().instance_id;
  CHECK_FALSE(bench.come(last, "1.2.3", "3.0"));
  bench.command(RolloutCommand::abort);
  CHECK(bench.come(last, "1.2.3", "3.0"));
}
