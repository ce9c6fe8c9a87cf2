// Random schedules of pushes, reconnects, kills, snapshots and backups that are put back: the real store, the
// real decision about handshakes, the real index of waits, both real sessions through the codec, and agents
// with their real spools and state folders. Beside them a model of what has really happened, which no disk
// loses. What must hold:
//  * a wait is said to be done only when all that it waits for has really been done, under the recipe that
//  the
//    awaited machine should run; and passes only where that was said;
//  * no report is lost but those that went with a disk that was put back;
//  * no version of a machine stands for two lists of states;
//  * a rollout that was aborted does not run when an agent has shown that the database was put back;
//  * when the trouble is over, everybody converges.
//
// OPSAGENT_SCHEDULES: how many (200). OPSAGENT_SEED: the seed of the first; with one schedule that is the
// one.
#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include <doctest/doctest.h>

#include "agent/reports/encoding.hpp"
#include "agent/reports/spool.hpp"
#include "agent/runtime/active_recipe.hpp"
#include "agent/runtime/backend_history.hpp"
#include "backend/domain/access/instants.hpp"
#include "backend/domain/placement/waits.hpp"
#include "backend/fleet/handshake_decision.hpp"
#include "backend/rollouts/rollout_step.hpp"
#include "backend/store/history/audit.hpp"
#include "backend/store/history/history.hpp"
#include "protocol/agent_session.hpp"
#include "protocol/backend_session.hpp"
#include "tests/support/store_bench.hpp"
#include "tests/support/worker_bench.hpp"

namespace {

namespace fs = std::filesystem;
namespace ag = protocol::at_agent;
namespace be = protocol::at_backend;
using namespace backend;
using tests::must;

void replace_folder(const std::string& folder, const std::string& copy) {
  fs::remove_all(folder);
  fs::copy(copy, folder, fs::copy_options::recursive);
}

std::string key_of(std::int64_t version, const std::string& digest) {
  return std::to_string(version) + " " + digest;
}

// What has really happened.
struct Truth {
  std::set<std::tuple<std::string, std::string, std::string>> done;  // machine, state, digest of its list
  std::set<std::tuple<std::string, std::string, std::string>> said;  // machine, wait, key_of() its list
  std::set<std::string> owed;                                        // reports that must be stored in the end
  std::vector<std::string> events;  // for whoever looks at a seed that failed
};

// ---- an agent: its state folder, and a worker that does one state at a time

class Agent {
 public:
  Agent(std::string name, std::string folder, Truth& truth)
      : name_(std::move(name)), folder_(std::move(folder)), snapshot_(folder_ + ".snapshot"), truth_(truth) {
    fs::create_directories(folder_);
    start();
    take_snapshot();
  }

  const std::string& name() const { return name_; }
  bool is_connected() const { return session_.has_value(); }
  const std::string& history() const { return history_->text(); }
  bool has_been_through() const { return rounds_ > 0; }
  void forget_rounds() { rounds_ = 0; }
  std::size_t unsent() const { return spool_->last_seq() - spool_->acknowledged(); }

  // Ends without a chance to write anything.
  void kill() {
    disconnect();
    fs::rename(folder_, folder_ + ".away");  // what destructors write goes nowhere
    spool_.reset();
    recipe_.reset();
    history_.reset();
    fs::rename(folder_ + ".away", folder_);
  }
  void start() {
    spool_ = must(agent::reports::Spool::open(folder_ + "/spool"));
    recipe_.emplace(folder_, agent::runtime::RecipeTypes{
                                 .registry = {std::shared_ptr<void>(), &tests::engine_registry()}});
    recipe_->start([](const auto&) { return base::Error(base::ErrorCode::not_found, "there are none"); });
    history_.emplace(folder_ + "/history");
    history_->load();
    place_ = 0;
  }
  void take_snapshot() {
    if (fs::exists(snapshot_)) fs::remove_all(snapshot_);
    fs::copy(folder_, snapshot_, fs::copy_options::recursive);
  }
  void put_back() {
    kill();
    replace_folder(folder_, snapshot_);
    start();
  }
  // The ids of reports that it still has to send. Not read from the spool: that would count as sent.
  std::set<std::string> held() const {
    std::set<std::string> ids;
    for (const auto& [seq, id] : made_)
      if (seq > spool_->acknowledged() && seq <= spool_->last_seq()) ids.insert(id);
    return ids;
  }

  // ---- the connection
  void connect() {
    protocol::Handshake hello = tests::StoreBench::handshake(name_);
    hello.agent_uid = spool_->uid();
    hello.last_seq = spool_->last_seq();
    hello.history = history_->text();
    if (const auto recipe = recipe_->in_force(); recipe.version > 0) {
      hello.recipe_version = recipe.version;
      hello.recipe_digest = recipe.digest;
    }
    session_.emplace(std::move(hello), 2, spool_->offered_seq());
    feed(ag::Opened{});
    feed(recipe_->in_force());
  }
  void disconnect() {
    session_.reset();
    events_.clear();
    to_backend.clear();
    to_agent.clear();
  }
  void hear() {
    auto message = must(protocol::parse_backend_message(to_agent.front()));
    to_agent.pop_front();
    feed(ag::Received{std::move(message), std::chrono::steady_clock::now()});
  }
  void written(std::uint64_t seq) {
    if (session_) feed(ag::ReportsWritten{seq});
  }

  std::deque<std::string> to_backend, to_agent;

  // ---- the worker
  void work(bool fails) {
    if (recipe_->in_force().version == 0) return;
    const auto& current = *recipe_->current();
    const auto states = must(domain::read_states(current.states));
    if (states->ids.empty()) return;
    if (place_ >= states->ids.size()) place_ = 0;
    const std::string& id = states->ids[place_];
    const auto open = recipe_->in_force().waits;
    if (std::ranges::find(open, id, &ag::OpenWait::id) != open.end()) return;  // it waits
    if (states->wait_at(place_)) {
      REQUIRE_MESSAGE(truth_.said.contains({name_, id, key_of(current.version, current.digest)}), name_,
                      " passes the wait ", id, " of version ", current.version,
                      ", which nobody has said to be done");
    } else if (!fails) {
      truth_.done.insert({name_, id, current.digest});
    }
    const bool ok = states->wait_at(place_) != nullptr || !fails;
    report(protocol::StateLog{
        .recipe_version = current.version, .id = id, .state_result = ok, .outcome = ok ? "kept" : "failed"});
    place_ = ok ? place_ + 1 : 0;
    if (place_ < states->ids.size()) return;
    place_ = 0;
    ++rounds_;
    const protocol::RoundEnd end{
        .recipe_version = current.version, .round = rounds_, .counts = {{"kept", states->ids.size()}}};
    append(agent::reports::to_entry(end));
  }

 private:
  void report(protocol::StateLog log) {
    const std::string id = name_ + "#" + std::to_string(++number_);
    log.state_comment = id;
    const std::uint64_t seq = spool_->last_seq() + 1;
    append(agent::reports::to_entry(log));
    made_[seq] = id;
    truth_.owed.insert(id);
  }
  void append(const agent::reports::Spool::Entry& entry) {
    must(spool_->append({&entry, 1}));
    if (session_) feed(ag::ReportsAvailable{spool_->last_seq()});
  }

  void feed(ag::Event event) {
    events_.push_back(std::move(event));
    if (is_feeding_) return;
    is_feeding_ = true;
    while (!events_.empty() && session_) {
      ag::Event next = std::move(events_.front());
      events_.pop_front();
      for (ag::Action& action : session_->step(std::move(next))) {
        if (!session_) break;
        std::visit([this](auto& each) { perform(each); }, action);
      }
    }
    is_feeding_ = false;
    if (closes_) disconnect();
    closes_ = false;
  }
  void perform(ag::Send& send) { to_backend.push_back(protocol::encode(send.message, send.version)); }
  void perform(ag::ReadReports& reading) {
    ag::ReportsRead read;
    for (const auto& record : spool_->read_after(reading.after, reading.how_many, 1 << 20)) {
      read.through = record.seq;
      read.reports.push_back({record.seq, must(agent::reports::from_payload(record.payload))});
    }
    feed(std::move(read));
  }
  void perform(ag::AcknowledgeReports& done) { spool_->acknowledge(done.seq); }
  void perform(ag::ResetReportStream&) {
    must(spool_->renew_uid());
    truth_.events.push_back(name_ + " renews its stream");
    closes_ = true;
  }
  void perform(ag::KeepHistory& keep) { must(history_->keep(std::move(keep.history))); }
  void perform(ag::TakeRecipe& take) {
    const auto& before = recipe_->current();
    REQUIRE_MESSAGE(!(before && before->version == take.recipe.recipe_version), name_, " is given version ",
                    take.recipe.recipe_version, " again, with other states");
    carry_out(recipe_->take(take.recipe));
  }
  void perform(ag::MoveVersion& move) { carry_out(recipe_->move_version(move)); }
  void perform(ag::WaitDone& done) { carry_out(recipe_->wait_done(done.version, done.id), false); }
  void perform(ag::Close&) { closes_ = true; }
  void perform(ag::Disconnect&) { closes_ = true; }
  void perform(auto&) {}

  void carry_out(agent::runtime::RecipeDecision decision, bool is_another = true) {
    REQUIRE(decision.problems.empty());
    for (protocol::RecipeStatus& status : decision.statuses)
      append(agent::reports::to_entry(std::move(status)));
    if (!is_another) return;
    place_ = 0;
    feed(recipe_->in_force());
  }

  const std::string name_, folder_, snapshot_;
  Truth& truth_;
  std::unique_ptr<agent::reports::Spool> spool_;
  std::optional<agent::runtime::ActiveRecipe> recipe_;
  std::optional<agent::runtime::BackendHistory> history_;
  std::optional<protocol::AgentSession> session_;
  std::deque<ag::Event> events_;
  bool is_feeding_ = false, closes_ = false;
  std::size_t place_ = 0;
  std::uint64_t rounds_ = 0, number_ = 0;
  std::map<std::uint64_t, std::string> made_;  // by number, the last that had it
};

// ---- the backend: its store, its waits, and one connection for each agent

class Backend {
 public:
  Backend(tests::StoreBench& bench, Truth& truth) : bench_(bench), truth_(truth) { start(); }

  void start() {
    bench_.open();
    must(bench_->set_all_offline());
    index_ = domain::WaitIndex();
    lists_.clear();
    connections_.clear();
    must(bench_->each_instance_progress([&](const domain::InstanceProgress& each) { all_.push_back(each); }));
    for (const domain::InstanceProgress& each : std::exchange(all_, {}))
      index_.set_instance(each, states_of(each), 0);
  }

  void accept(Agent& agent) {
    connections_.erase(agent.name());
    Connection& connection = connections_.emplace(agent.name(), Connection{.agent = &agent}).first->second;
    step(connection, be::Opened{});
  }
  void drop(const std::string& name) {
    const auto found = connections_.find(name);
    if (found == connections_.end()) return;
    if (found->second.session.instance != 0)
      must(bench_->set_offline(found->second.session, domain::now_millis()));
    connections_.erase(found);
  }
  // What it has heard.
  void hear(Agent& agent) {
    auto message = must(protocol::parse_agent_message(agent.to_backend.front()));
    agent.to_backend.pop_front();
    const auto* seq = protocol::seq_of(message.body);
    const std::uint64_t number = seq && *seq ? **seq : 0;
    step(connections_.at(agent.name()), be::Received{std::move(message)});
    if (number > 0) agent.written(number);
  }
  bool has_reports(const std::string& name) const {
    const auto found = connections_.find(name);
    return found != connections_.end() && !found->second.reports.empty();
  }
  void store(const std::string& name) {
    Connection& connection = connections_.at(name);
    const auto reports = std::exchange(connection.reports, {});
    domain::WaitIndex::Given given = index_.given(connection.session.instance);
    const domain::ReportTerms terms{
        .states = given.states ? given.states : std::make_shared<const domain::StateList>(),
        .recipe_version = given.recipe_version};
    domain::ReportsStored stored;
    std::string history;
    must(bench_->transact([&]() -> base::Result<void> {
      stored = must(bench_->store_reports(connection.session, reports, domain::now_millis(), terms));
      history = must(store::history_mark(*bench_));
      return {};
    }));
    REQUIRE_FALSE(stored.is_superseded);
    const domain::InstanceKey key = connection.session.instance;
    step(connection, be::Stored{stored.ack_seq, history});
    for (const domain::Report& report : reports)
      tell_satisfied(index_.on_report(key, report, 1));
  }

  void push(const std::string& recipe, const std::string& content) {
    fleet::Delivery delivery;
    must(bench_->transact([&]() -> base::Result<void> {
      bench_.push(recipe, content);
      auto placed = must(fleet::place_app(*bench_, "default"));
      delivery = must(fleet::prepare_delivery(*bench_, std::move(placed)));
      must(store::add_audit(
          *bench_, {.at = 1, .actor = "ann", .action = "recipe.push", .object = recipe, .detail = content}));
      return {};
    }));
    deliver(delivery);
  }

 private:
  struct Connection {
    Agent* agent = nullptr;
    protocol::BackendSession rules{protocol::BackendPolicy{.protocol_min = 2, .accepts_tokens = true}};
    domain::AgentSession session;
    std::vector<domain::Report> reports;
    std::int64_t told_version = 0, asked = 0;
    domain::PlacementKey told_placement = 0;
  };

  std::shared_ptr<const domain::StateList> states_of(const domain::InstanceProgress& each) {
    if (each.placement == 0) return nullptr;
    auto& known = lists_[each.placement];
    if (!known) known = must(fleet::read_placement(*bench_, each.placement))->states;
    return known;
  }
  Connection* find(domain::InstanceKey key) {
    for (auto& [name, connection] : connections_)
      if (connection.session.instance == key) return &connection;
    return nullptr;
  }

  void step(Connection& connection, be::Event event) {
    for (be::Action& action : connection.rules.step(std::move(event)))
      std::visit([&](auto& each) { perform(connection, each); }, action);
  }
  void perform(Connection& connection, be::Send& send) {
    connection.agent->to_agent.push_back(protocol::encode(send.message, send.version));
  }
  void perform(Connection& connection, be::DecideHandshake& asked) {
    std::optional<fleet::HandshakeDecision> decision;
    must(bench_->transact([&]() -> base::Result<void> {
      decision =
          must(fleet::decide_handshake(*bench_, asked.handshake, {}, {.version = 2, .peer = "127.0.0.1:1"}));
      return {};
    }));
    REQUIRE(decision->admission.verdict == domain::Admission::Verdict::admitted);
    if (!decision->put_back.empty()) truth_.events.push_back("noticed by " + connection.agent->name());
    connection.session = decision->admission.session;
    step(connection,
         be::Accepted{.welcome = {.ack_seq = decision->admission.ack_seq, .history = decision->history}});
    deliver(decision->delivery);
    const domain::Instance& instance = decision->instance;
    if (decision->content) {
      tell_recipe(connection, *decision->content, instance.recipe_version);
    } else if (asked.handshake.recipe_version == instance.recipe_version || instance.placement == 0) {
      connection.told_version = instance.recipe_version;
      connection.told_placement = instance.placement;
    } else {
      connection.told_placement = instance.placement;
      fleet::PlacementContent moved;
      moved.placement = {.key = instance.placement, .digest = instance.recipe_digest};
      tell_recipe(connection, moved, instance.recipe_version);
    }
    tell_satisfied_waits(connection, instance.recipe_version);
  }
  void perform(Connection& connection, be::Store& store) {
    std::visit(
        [&](auto& report) {
          if constexpr (std::is_constructible_v<domain::Report, decltype(report)>)
            connection.reports.emplace_back(std::move(report));
        },
        store.report);
  }
  void perform(Connection& connection, be::AnswerWaits& asked) {
    connection.asked = asked.recipe_version;
    answer_waits(connection);
  }
  void perform(Connection& connection, be::Close& close) {
    FAIL("the backend closes the connection of ", connection.agent->name(), ": ", close.reason);
  }
  void perform(Connection&, auto&) {}

  void answer_waits(Connection& connection) {
    const std::int64_t version = index_.given(connection.session.instance).recipe_version;
    if (version == 0 || connection.asked != version) return;
    connection.asked = 0;
    if (auto list = index_.wait_list(connection.session.instance))
      step(connection, be::Tell{.body = std::move(*list)});
    tell_satisfied_waits(connection, version);
  }
  void tell_recipe(Connection& connection, const fleet::PlacementContent& content, std::int64_t version) {
    if (version <= connection.told_version) return;
    const domain::Placement& placement = content.placement;
    const bool only_version = placement.key == connection.told_placement;
    connection.told_version = version;
    connection.told_placement = placement.key;
    protocol::RecipeMetadata recipe{.recipe_version = version, .digest = placement.digest};
    if (!only_version) recipe.states = protocol::Json{*content.text};
    step(connection, be::Tell{.body = std::move(recipe)});
  }
  void deliver(const fleet::Delivery& delivery) {
    for (const fleet::PlacedVersion& version : delivery.changed)
      if (Connection* connection = find(version.instance))
        tell_recipe(*connection, *delivery.contents.at(version.placement), version.recipe_version);
    std::vector<domain::Satisfied> satisfied;
    for (const domain::InstanceProgress& each : delivery.progress)
      std::ranges::move(index_.set_instance(each, states_of(each), 1), std::back_inserter(satisfied));
    std::erase_if(satisfied, [this](const domain::Satisfied& wait) {
      return !is_satisfied(wait.instance, wait.state_id);
    });
    tell_satisfied(satisfied);
    for (const domain::InstanceProgress& each : delivery.progress)
      if (Connection* connection = find(each.key)) answer_waits(*connection);
  }
  bool is_satisfied(domain::InstanceKey key, const std::string& id) const {
    return std::ranges::any_of(index_.waits_of(key), [&](const domain::WaitStatus& wait) {
      return wait.state_id == id && wait.satisfied_at.has_value();
    });
  }
  void tell_satisfied(const std::vector<domain::Satisfied>& satisfied) {
    for (const domain::Satisfied& wait : satisfied)
      if (Connection* connection = find(wait.instance))
        tell_done(*connection, wait.recipe_version, wait.state_id);
  }
  void tell_satisfied_waits(Connection& connection, std::int64_t version) {
    const domain::InstanceKey key = connection.session.instance;
    if (index_.given(key).recipe_version != version) return;
    for (const domain::WaitStatus& wait : index_.waits_of(key))
      if (wait.satisfied_at) tell_done(connection, version, wait.state_id);
  }
  // Says it, and holds it against what has really happened.
  void tell_done(Connection& connection, std::int64_t version, const std::string& id) {
    const auto own = must(bench_->find_instance(connection.session.instance));
    const auto states = index_.given(own.key).states;
    const auto* wait = states->wait_at(states->index.at(id));
    REQUIRE(wait);
    for (const domain::WaitTarget& target : wait->targets) {
      const auto awaited =
          must(bench_->find_instance("default", target.selector ? "db" : target.instance_id));
      REQUIRE_MESSAGE(truth_.done.contains({awaited.instance_id, target.state_id, awaited.recipe_digest}),
                      connection.agent->name(), " is told that ", id, " of version ", version,
                      " is done, and ", awaited.instance_id, " has never done ", target.state_id,
                      " of what it should run");
    }
    truth_.said.insert({connection.agent->name(), id, key_of(version, own.recipe_digest)});
    step(connection, be::Tell{.body = protocol::WaitDone{version, id, ""}});
  }

  tests::StoreBench& bench_;
  Truth& truth_;
  domain::WaitIndex index_;
  std::map<domain::PlacementKey, std::shared_ptr<const domain::StateList>> lists_;
  std::map<std::string, Connection> connections_;
  std::vector<domain::InstanceProgress> all_;
};

// ---- one schedule

class World {
 public:
  explicit World(unsigned seed) : random_(seed), backend_(bench_, truth_) {
    for (const char* name : {"db", "web", "app"})
      agents_.push_back(std::make_unique<Agent>(name, scratch_ / name, truth_));
    for (const auto& agent : agents_)
      bench_.join(agent->name(), {{"role", agent->name()}});
    backend_.start();
    bench_.push("db", content("db"));
    bench_.push("web", content("web"));
    bench_.push("app", content("app"));
    for (const auto& agent : agents_)
      bench_.assign("role=" + agent->name(), agent->name());
    backend_.push("db", content("db"));
    domain::Rollout rollout;
    rollout.id = "r1";
    rollout.app_id = "default";
    rollout.selector = "*";
    rollout.version = "2.0";
    rollout.rings = {1};
    rollout.created = 1;
    domain::RolloutTarget target;
    target.instance = must(bench_->find_instance("default", "app")).key;
    target.instance_id = "app";
    must(bench_->add_rollout(rollout, {&target, 1}));
    back_up();
  }

  void run(std::size_t steps) {
    for (std::size_t i = 0; i < steps; ++i) {
      happen();
      if (must(bench_->find_rollout("r1")).state == domain::RolloutState::aborted)
        after_abort_.insert(must(store::history_mark(*bench_)));
    }
    settle();
  }
  const std::vector<std::string>& events() const { return truth_.events; }
  std::size_t put_back() const { return agents_put_back_ + backends_put_back_; }

 private:
  std::size_t dice(std::size_t sides) { return random_() % sides; }
  Agent& any() { return *agents_[dice(agents_.size())]; }
  void note(std::string text) { truth_.events.push_back(std::move(text)); }

  std::string content(const std::string& name) {
    const std::string comment =
        R"({"module":"meta.comment","parameter":{"comment":")" + std::to_string(++pushes_) + R"("},"id":)";
    if (name == "db") return R"({"states":[)" + comment + R"("base"},)" + comment + R"("more"}]})";
    if (name == "web")
      return R"({"states":[)" + comment +
             R"("first"},{"id":"w1","module":"meta.wait","parameter":{"state":["db/base"]}},)" +
             R"({"id":"w2","module":"meta.wait","parameter":{"state":{"selector":"role=db","state_id":"more"}}},)" +
             comment + R"("last"}]})";
    return R"({"states":[{"id":"w1","module":"meta.wait","parameter":{"state":["db/more","web/last"]}},)" +
           comment + R"("mine"}]})";
  }

  void happen() {
    const std::size_t what = dice(1000);
    if (what < 330) return talk(any());
    if (what < 620) return any().work(dice(8) == 0);
    if (what < 700) return connect(any());
    if (what < 740) return disconnect(any());
    if (what < 800) {
      const char* const names[] = {"db", "db", "web", "app"};
      const std::string name = names[dice(4)];
      note("push " + name);
      return backend_.push(name, content(name));
    }
    if (what < 850) {
      Agent& agent = any();
      note("kill " + agent.name());
      disconnect(agent);
      agent.kill();
      return agent.start();
    }
    if (what < 880) {
      note("kill the backend");
      for (const auto& agent : agents_)
        disconnect(*agent);
      return backend_.start();
    }
    if (what < 900) {
      Agent& agent = any();
      note("snapshot of " + agent.name());
      disconnect(agent);
      agent.kill();
      agent.take_snapshot();
      return agent.start();
    }
    if (what < 925) return put_agent_back(any());
    if (what < 945) return back_up();
    if (what < 970) return put_backend_back();
    if (what < 980) return abort();
    backlog();
  }

  void connect(Agent& agent) {
    disconnect(agent);
    backend_.accept(agent);
    agent.connect();
  }
  void disconnect(Agent& agent) {
    backend_.drop(agent.name());
    agent.disconnect();
  }
  // One message, or one write to the disk.
  void talk(Agent& agent) {
    if (!agent.is_connected()) return;
    const std::size_t what = dice(3);
    if (what == 0 && !agent.to_agent.empty()) agent.hear();
    if (what == 1 && !agent.to_backend.empty()) backend_.hear(agent);
    if (what == 2 && backend_.has_reports(agent.name())) backend_.store(agent.name());
    if (!agent.is_connected()) disconnect(agent);  // it has closed
  }
  void backlog() {
    Agent& agent = any();
    note("backlog of " + agent.name());
    disconnect(agent);
    for (std::size_t i = 0; i < 5 + dice(30); ++i)
      agent.work(dice(3) == 0);
  }
  std::set<std::string> stored() {
    std::set<std::string> ids;
    domain::PageRequest page{"", domain::kLargestPage};
    do {
      auto some = must(bench_->list_results({}, page));
      for (const auto& row : some.items)
        ids.insert(row.log.state_comment);
      page.after = some.next;
    } while (!page.after.empty());
    return ids;
  }
  // What went with a disk is not owed any more.
  void forgive(const std::set<std::string>& kept, const std::string& prefix) {
    std::erase_if(truth_.owed,
                  [&](const std::string& id) { return id.starts_with(prefix) && !kept.contains(id); });
  }
  void put_agent_back(Agent& agent) {
    note("put back " + agent.name());
    ++agents_put_back_;
    disconnect(agent);
    agent.put_back();
    std::set<std::string> kept = stored();
    kept.merge(agent.held());
    forgive(kept, agent.name() + "#");
  }
  void back_up() {
    note("backup");
    bench_.store.reset();
    fs::remove_all(backup_.path());
    fs::copy(bench_.folder.path(), backup_.path(), fs::copy_options::recursive);
    bench_.open();
  }
  void put_backend_back() {
    note("put back the backend");
    ++backends_put_back_;
    for (const auto& agent : agents_)
      disconnect(*agent);
    bench_.store.reset();
    replace_folder(bench_.folder.path(), backup_.path());
    backend_.start();
    std::set<std::string> kept = stored();
    for (const auto& agent : agents_)
      kept.merge(agent->held());
    forgive(kept, "");
  }
  void abort() {
    const auto rollout = must(bench_->find_rollout("r1"));
    if (rollout.state == domain::RolloutState::aborted) return;
    note("abort");
    must(bench_->transact([&]() -> base::Result<void> {
      must(rollouts::command_rollout(*bench_, "r1", rollouts::RolloutCommand::abort, "ann", 1));
      must(store::add_audit(
          *bench_, {.at = 1, .actor = "ann", .action = "rollout.abort", .object = "r1", .detail = ""}));
      return {};
    }));
  }

  bool is_quiet() {
    for (const auto& agent : agents_)
      if (!agent->is_connected() || !agent->to_agent.empty() || !agent->to_backend.empty() ||
          backend_.has_reports(agent->name()))
        return false;
    return true;
  }
  // Until nothing is on its way any more and that is so for everybody.
  void pump(bool (*is_enough)(const Agent&), bool works) {
    for (std::size_t i = 0; i < 20'000; ++i) {
      for (const auto& agent : agents_) {
        if (!agent->is_connected()) connect(*agent);
        if (!agent->to_agent.empty()) agent->hear();
        if (agent->is_connected() && !agent->to_backend.empty()) backend_.hear(*agent);
        if (agent->is_connected() && backend_.has_reports(agent->name())) backend_.store(agent->name());
        if (!agent->is_connected()) disconnect(*agent);
        if (works && !is_enough(*agent)) agent->work(false);
      }
      if (is_quiet() && std::ranges::all_of(agents_, [&](const auto& agent) { return is_enough(*agent); }))
        return;
    }
  }
  // Everything is connected and works from here on.
  void settle() {
    note("settle");
    // Whoever was told something of a life of the database in which it was aborted says so now.
    const bool somebody_knows = std::ranges::any_of(
        agents_, [this](const auto& agent) { return after_abort_.contains(agent->history()); });
    for (const auto& agent : agents_)
      connect(*agent);
    pump([](const Agent&) { return true; }, false);  // everybody has the newest recipe
    for (const auto& agent : agents_)
      agent->forget_rounds();
    pump([](const Agent& agent) { return agent.has_been_through(); }, true);
    for (const auto& agent : agents_) {
      REQUIRE_MESSAGE(agent->has_been_through(), agent->name(), " does not converge");
      REQUIRE_MESSAGE(agent->unsent() == 0, agent->name(), " has reports that it does not send");
    }
    const std::set<std::string> there = stored();
    for (const std::string& id : truth_.owed)
      REQUIRE_MESSAGE(there.contains(id), "the report ", id, " is lost");
    if (somebody_knows)
      REQUIRE_MESSAGE(must(bench_->find_rollout("r1")).state != domain::RolloutState::running,
                      "an aborted rollout runs again");
  }

  std::mt19937 random_;
  Truth truth_;
  tests::ScratchFolder scratch_, backup_;
  tests::StoreBench bench_;
  Backend backend_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::size_t pushes_ = 0, agents_put_back_ = 0, backends_put_back_ = 0;
  std::set<std::string> after_abort_;  // what agents were told while it was aborted
};

unsigned long number_of(const char* variable, unsigned long otherwise) {
  const char* const text = std::getenv(variable);
  return text ? std::strtoul(text, nullptr, 10) : otherwise;
}

}  // namespace

TEST_CASE("whatever is killed, put back, reconnected and pushed, nothing is lost and no wait passes early") {
  const auto schedules = number_of("OPSAGENT_SCHEDULES", 200);
  const auto first =
      static_cast<unsigned>(number_of("OPSAGENT_SEED", std::random_device{}() % 1'000'000'000));
  std::cout << "schedules: OPSAGENT_SEED=" << first << " OPSAGENT_SCHEDULES=" << schedules << std::endl;
  std::size_t put_back = 0, events = 0;
  for (unsigned seed = first; seed < first + schedules; ++seed) {
    INFO("OPSAGENT_SEED=", seed, " OPSAGENT_SCHEDULES=1");
    World world(seed);
    std::string log;
    try {
      world.run(120);
    } catch (...) {
      for (const std::string& event : world.events())
        log += event + "; ";
      std::cout << "OPSAGENT_SEED=" << seed << " OPSAGENT_SCHEDULES=1: " << log << std::endl;
      throw;
    }
    put_back += world.put_back();
    events += world.events().size();
  }
  std::cout << "schedules: " << schedules << " run, " << put_back << " disks put back, " << events
            << " events" << std::endl;
}
