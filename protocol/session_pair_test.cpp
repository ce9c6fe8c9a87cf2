// Both sessions in conversation, through the codec, over a connection that breaks at random.
#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include <doctest/doctest.h>

#include "protocol/agent_session.hpp"
#include "protocol/backend_session.hpp"

namespace protocol {

namespace {

// The shells around the sessions, as small as they can be: a spool, a table, and two queues of texts for the
// socket. Whatever is in the queues when the connection breaks is lost.
class Conversation {
 public:
  explicit Conversation(unsigned seed) : random_(seed) { connect(); }

  void make_report() {
    const std::uint64_t seq = ++last_seq_;
    spool_[seq] = StateLog{.recipe_version = 1, .id = "s" + std::to_string(seq), .state_result = true};
    at_agent(at_agent::ReportsAvailable{seq});
  }

  void connect() {
    to_agent_.clear();
    to_backend_.clear();
    waiting_for_disk_.clear();
    agent_.emplace(
        Handshake{.instance_id = "i", .agent_version = "1", .recipe_version = 1, .last_seq = last_seq_});
    backend_.emplace(BackendPolicy{.accepts_tokens = true});
    at_backend(at_backend::Opened{});
    at_agent(at_agent::Opened{});
  }

  // One thing that happens somewhere. False if nothing is left to happen.
  bool happen() {
    std::vector<void (Conversation::*)()> possible;
    if (!to_agent_.empty()) possible.push_back(&Conversation::agent_receives);
    if (!to_backend_.empty()) possible.push_back(&Conversation::backend_receives);
    if (!waiting_for_disk_.empty()) possible.push_back(&Conversation::disk_stores);
    if (possible.empty()) return false;
    (this->*possible[random_() % possible.size()])();
    return true;
  }

  const std::map<std::string, int>& stored() const { return stored_; }
  std::size_t spooled() const { return spool_.size(); }
  std::uint64_t made() const { return last_seq_; }
  int closed() const { return closed_; }

 private:
  void agent_receives() {
    auto message = parse_backend_message(to_agent_.front());
    to_agent_.pop_front();
    REQUIRE(message);
    at_agent(at_agent::Received{std::move(*message)});
  }

  void backend_receives() {
    auto message = parse_agent_message(to_backend_.front());
    to_backend_.pop_front();
    REQUIRE(message);
    const auto* seq = seq_of(message->body);
    const std::uint64_t written = seq != nullptr && *seq ? **seq : 0;
    at_backend(at_backend::Received{std::move(*message)});
    if (written > 0) at_agent(at_agent::ReportsWritten{written});
  }

  // One transaction for what has accumulated; each (agent, seq) is stored once.
  void disk_stores() {
    for (const auto& [seq, id] : std::exchange(waiting_for_disk_, {})) {
      if (seq > stored_up_to_) ++stored_[id];
      stored_up_to_ = std::max(stored_up_to_, seq);
    }
    at_backend(at_backend::Stored{stored_up_to_});
  }

  void at_agent(at_agent::Event event) {
    for (auto& action : agent_->step(std::move(event)))
      std::visit([this](auto& a) { perform(a); }, action);
  }
  void at_backend(at_backend::Event event) {
    for (auto& action : backend_->step(std::move(event)))
      std::visit([this](auto& a) { perform(a); }, action);
  }

  void perform(at_agent::Send& send) { to_backend_.push_back(encode(send.message, send.version)); }
  void perform(at_agent::ReadReports& reading) {
    at_agent::ReportsRead read;
    for (auto at = spool_.upper_bound(reading.after); at != spool_.end(); ++at)
      if (read.reports.size() < reading.how_many) {
        read.reports.push_back({at->first, at->second});
        read.through = at->first;
      }
    at_agent(std::move(read));
  }
  void perform(at_agent::AcknowledgeReports& done) {
    spool_.erase(spool_.begin(), spool_.upper_bound(done.seq));
  }
  void perform(at_agent::Close&) { ++closed_; }
  void perform(auto&) {}

  void perform(at_backend::Send& send) { to_agent_.push_back(encode(send.message, send.version)); }
  void perform(at_backend::DecideHandshake&) {
    at_backend(at_backend::Accepted{Welcome{.ack_seq = stored_up_to_}});
  }
  void perform(at_backend::Store& store) {
    waiting_for_disk_.emplace_back(store.seq.value(), std::get<StateLog>(store.report).id);
  }
  void perform(at_backend::Close&) { ++closed_; }

  std::mt19937 random_;
  std::map<std::uint64_t, StateLog> spool_;
  std::uint64_t last_seq_ = 0;
  std::map<std::string, int> stored_;
  std::uint64_t stored_up_to_ = 0;
  std::vector<std::pair<std::uint64_t, std::string>> waiting_for_disk_;
  std::deque<std::string> to_agent_, to_backend_;
  std::optional<AgentSession> agent_;
  std::optional<BackendSession> backend_;
  int closed_ = 0;
};

}  // namespace

TEST_CASE("no report is lost and none stored twice, however often the connection breaks") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    Conversation talk(seed);
    for (int i = 0; i < 3000; ++i) {
      const auto dice = random() % 100;
      if (dice < 30) talk.make_report();
      if (dice == 99) talk.connect();
      talk.happen();
    }
    talk.connect();
    while (talk.happen()) {
    }
    CHECK(talk.made() > 500);
    CHECK(talk.stored().size() == talk.made());
    CHECK(std::ranges::all_of(talk.stored(), [](const auto& row) { return row.second == 1; }));
    CHECK(talk.spooled() == 0);
    CHECK(talk.closed() == 0);
  }
}

namespace {

// One side that speaks version 2 only, and a peer that makes it out to be an old one: an old backend, or
// somebody between them who takes the offer of version 2 out of the handshake, or the Welcome out of the
// answer.
bool is_refusal(const auto& actions, std::string_view why) {
  bool closed = false, logged = false;
  for (const auto& action : actions)
    std::visit(
        [&](const auto& a) {
          if constexpr (requires {
                          a.code;
                          a.reason;
                        })
            closed = closed || (a.code == kClosePolicy && a.reason.find(why) != std::string::npos);
          if constexpr (requires { a.level; }) logged = logged || a.text.find(why) != std::string::npos;
        },
        action);
  return closed && logged;
}

}  // namespace

TEST_CASE("neither side is talked down to version 1 when it wants version 2, and both log it") {
  AgentSession agent(Handshake{.instance_id = "i", .agent_version = "1"}, 2);
  auto said = agent.step(at_agent::Opened{});
  Handshake offered;
  for (const auto& action : said)
    if (const auto* send = std::get_if<at_agent::Send>(&action))
      offered = std::get<Handshake>(send->message.body);
  REQUIRE(offered.protocol_max == 2);

  Handshake stripped = offered;
  stripped.protocol_max = 1;
  for (const bool has_certificate : {false, true}) {
    BackendSession backend(BackendPolicy{.protocol_min = 2, .accepts_tokens = true});
    at_backend::Opened opened;
    if (has_certificate) opened.certificate = CertifiedName{"app", "i"};
    backend.step(std::move(opened));
    CHECK(is_refusal(backend.step(at_backend::Received{AgentMessage{stripped}}),
                     "protocol version 1 is not accepted here"));
    CHECK(backend.step(at_backend::Accepted{}).empty());
    CHECK_FALSE(backend.is_accepted());
  }

  const std::string why = "the backend speaks protocol version 1, and protocol_min is 2";
  for (const BackendBody& body :
       {BackendBody(RecipeMetadata{.recipe_version = 1, .states = Json{"[]"}}),
        BackendBody(WaitList{.recipe_version = 1}), BackendBody(WaitDone{.recipe_version = 1, .id = "w"}),
        BackendBody(AgentUpdate{.version = "0.1"}), BackendBody(Welcome{.protocol_version = 1})}) {
    CAPTURE(code_of(body));
    AgentSession same = agent;
    const auto actions = same.step(at_agent::Received{BackendMessage{body}});
    CHECK(is_refusal(actions, why));
    CHECK(actions.size() == 2);  // and nothing of the message was done
    CHECK(same.version() == 0);
    CHECK(same.step(at_agent::Received{BackendMessage{Welcome{}}}).empty());
  }
}

}  // namespace protocol
