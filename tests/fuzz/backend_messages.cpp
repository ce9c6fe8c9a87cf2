// What a backend sends: decoded, and stepped through the agent's session. The first byte says what the
// agent's shell answers, and how much time passes between messages; then one message a line.
#include <set>

#include "base/utc_text.hpp"
#include "protocol/agent_session.hpp"
#include "protocol/command_memory.hpp"
#include "protocol/ids.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace protocol;
using namespace protocol::at_agent;
using fuzz::require;

class Shell {
 public:
  explicit Shell(unsigned choices)
      : protocol_min_((choices & 1) != 0 ? 2 : 1),
        refuses_((choices & 2) != 0),
        pause_((choices >> 2) * 5),
        session_(Handshake{.instance_id = "i-1",
                           .app_id = "app-1",
                           .agent_version = "1",
                           .recipe_version = 7,
                           .recipe_digest = "d7",
                           .last_seq = 100},
                 protocol_min_) {
    step(Opened{});
    step(recipe_);
  }

  void hear(BackendMessage message) {
    clock_ += std::chrono::seconds(pause_);
    const bool is_first_welcome = session_.version() != 2 && std::holds_alternative<Welcome>(message.body);
    heard_ = message;
    const std::string time = is_first_welcome ? std::get<Welcome>(message.body).server_time : std::string();
    step(Received{std::move(message), clock_});
    if (is_first_welcome && session_.version() == 2) {
      server_time_ = base::parse_utc(time);
      welcomed_at_ = clock_;
    }
  }

 private:
  void step(Event event) {
    auto actions = session_.step(std::move(event));
    require(!closed_ || actions.empty(), "a closed session does nothing");
    for (Action& action : actions)
      std::visit([this](auto& each) { perform(each); }, action);
  }

  void perform(TakeRecipe& take) {
    require(protocol_min_ == 1 || session_.version() == 2, "version 1 is refused where it should be");
    require(!take.recipe.plan_only, "what is to be planned is not applied");
    if (!refuses_) recipe_ = {take.recipe.recipe_version, take.recipe.digest, {{"w", {}}}};
    step(recipe_);
  }
  void perform(MoveVersion& move) {
    require(recipe_.version > 0, "only a recipe that is there is moved");
    recipe_.version = move.version;
    if (!move.digest.empty()) recipe_.digest = move.digest;
    step(recipe_);
  }
  void perform(PlanRecipe& plan) {
    is_command(plan.re);
    step(PlanReady{plan.re, {.recipe_version = plan.recipe.recipe_version}});
  }
  void perform(NoteCommand& note) {
    const CommandMemory::Command command{note.key, note.until};
    std::string problem = memory_.problem(command);
    if (problem.empty()) memory_.add(command);
    step(CommandNoted{std::move(problem)});
  }
  void perform(RunState& run) {
    is_command(run.re);
    refuses_ ? step(RequestRefused{run.re, "no"}) : step(RequestDone{run.re});
  }
  void perform(CancelRun& cancel) {
    is_command(cancel.re);
    step(RequestDone{cancel.re});
  }
  void perform(AnswerQuery& query) {
    is_command(query.re);
    step(QueryAnswered{query.re, {.data = {"{}"}}});
  }
  void perform(TrySettings& settings) {
    is_command(settings.re);
    step(RequestRefused{settings.re, "no"});
  }
  void perform(TakeHold& taken) {
    require(session_.version() == 2, "holds are of version 2 only");
    step(HoldsChanged{taken.hold.on ? std::vector<MachineHold>{{.by = taken.hold.by, .until = "soon"}}
                                    : std::vector<MachineHold>()});
    refuses_ ? step(RequestRefused{taken.re, "no"}) : step(RequestDone{taken.re});
  }
  void perform(BeginRound& begin) {
    is_command(begin.re);
    step(RequestDone{begin.re});
  }
  void perform(TrustAuthorities& trust) {
    require(session_.version() == 2, "authorities are announced in version 2 only");
    refuses_ ? step(RequestRefused{trust.re, "no"}) : step(RequestDone{trust.re});
  }
  void perform(ReadReports& reading) {
    ReportsRead read;
    for (std::size_t i = 1; i <= std::min<std::size_t>(reading.how_many, 3); ++i)
      read.reports.push_back({reading.after + i, StateLog{.recipe_version = 7, .id = "s"}});
    if (!read.reports.empty()) last_read_ = read.through = read.reports.back().seq;
    if (last_read_ > 200) read = {};  // the spool is empty
    step(std::move(read));
  }
  void perform(ReadIdentityAgain&) { step(IdentityRead{Handshake{.instance_id = "i-1"}}); }
  void perform(ReadFacts&) { step(FactsChanged{"f", Json{"{}"}, {}}); }
  void perform(Close&) { closed_ = true; }
  void perform(Disconnect&) { closed_ = true; }
  void perform(Send& send) {
    const auto read = parse_agent_message(encode(send.message, send.version));
    require(bool(read), "what is sent can be read");
  }
  void perform(auto&) {}

  // What reaches past the recipe: of version 2 only, once, and in its time.
  void is_command(const std::string& mid) {
    require(session_.version() == 2, "commands are of version 2");
    require(mid.empty() || mids_.size() > 1000 || mids_.insert(mid).second, "no command is done twice");
    const std::string& until = heard_.envelope.valid_until;
    if (until.empty()) return;
    const auto end = base::parse_utc(until);
    require(end && server_time_ && *server_time_ + (clock_ - welcomed_at_) <= *end,
            "no command is done after its time");
  }

  const int protocol_min_;
  const bool refuses_;
  const unsigned pause_;
  bool closed_ = false;
  std::uint64_t last_read_ = 0;
  RecipeInForce recipe_{7, "d7", {{"wait-db", {{"i-2", "db"}, {"", "cache"}}}}};
  std::chrono::steady_clock::time_point clock_{std::chrono::hours(1)}, welcomed_at_;
  std::optional<std::chrono::system_clock::time_point> server_time_;
  std::set<std::string> mids_;
  CommandMemory memory_;
  BackendMessage heard_;
  AgentSession session_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Shell shell(data[0]);
  std::string_view rest = fuzz::text_of(data + 1, size - 1);
  while (!rest.empty()) {
    auto message = parse_backend_message(fuzz::next_part(rest, '\n'));
    if (!message) continue;
    const auto again = parse_backend_message(encode(*message));
    require(again && *again == *message, "a message is read as it was written");
    if (const auto* list = std::get_if<WaitList>(&message->body))
      for (const StateRef& waited : list->waited)
        require(problem_of_name(waited.instance_id).empty(), "a name keeps to the rule for names");
    shell.hear(std::move(*message));
  }
  return 0;
}
