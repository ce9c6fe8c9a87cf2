// What an agent sends: decoded, and stepped through the backend's session. The first byte says what kind of
// peer it is and what the backend's shell answers; then one message a line.
#include "protocol/backend_session.hpp"
#include "protocol/ids.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace protocol;
using namespace protocol::at_backend;
using fuzz::require;

void check_name(const std::string& name) {
  require(name.empty() || problem_of_name(name).empty(), "a name that came in keeps to the rule for names");
}

void check_decoded(const AgentMessage& message) {
  const auto again = parse_agent_message(encode(message));
  require(again && *again == message, "a message is read as it was written");
  std::visit(
      [](const auto& body) {
        if constexpr (requires { body.instance_id; }) check_name(body.instance_id);
        if constexpr (requires { body.app_id; }) check_name(body.app_id);
        if constexpr (requires { body.tags; })
          for (const auto& [key, value] : body.tags)
            require(problem_of_name(key).empty() && problem_of_id(value).empty(), "tags are checked");
      },
      message.body);
}

class Shell {
 public:
  explicit Shell(unsigned choices)
      : is_certified_((choices & 1) != 0),
        accepts_tokens_((choices & 2) != 0),
        verdict_(choices >> 3 & 3),
        session_(
            BackendPolicy{.protocol_min = (choices & 4) != 0 ? 2 : 1, .accepts_tokens = accepts_tokens_}) {
    Opened opened;
    if (is_certified_) opened.certificate = CertifiedName{"app-1", "i-1"};
    step(std::move(opened));
  }

  void step(Event event) {
    auto actions = session_.step(std::move(event));
    require(!closed_ || actions.empty(), "a closed session does nothing");
    for (Action& action : actions)
      std::visit([this](auto& each) { perform(each); }, action);
  }

 private:
  void perform(DecideHandshake& judge) {
    require(is_certified_ || accepts_tokens_, "a stranger's handshake is not looked at");
    require(!is_certified_ || (judge.handshake.instance_id == "i-1" && judge.handshake.app_id == "app-1"),
            "an agent is whom its certificate names");
    if (verdict_ == 0) return step(Refused{"no"});
    if (verdict_ == 1) return step(NotReady{"not yet", {}});
    was_accepted_ = true;
    step(Accepted{});
  }
  void perform(Store& store) {
    require(was_accepted_, "nothing is stored of a peer that was not accepted");
    require(session_.version() == 1 || (store.seq && *store.seq > last_seq_), "numbers of reports grow");
    last_seq_ = store.seq.value_or(0);
    step(Stored{last_seq_});
  }
  void perform(StoreFacts&) { only_accepted(); }
  void perform(AnswerWaits& asked) {
    only_accepted();
    step(Tell{.body = WaitList{.recipe_version = asked.recipe_version}, .re = asked.re});
  }
  void perform(OutputArrived&) { only_accepted(); }
  void perform(Answered&) { only_accepted(); }
  void perform(SignCertificate& sign) {
    require(sign.enrolment == !was_accepted_, "a certificate is renewed on an accepted connection only");
    require(sign.enrolment != sign.request.token.empty(), "a join token is for enrolment, and only for that");
    require(sign.enrolment || is_certified_, "what is renewed must be there");
    require(!sign.enrolment || ++enrolments_ == 1, "one enrolment a connection");
    step(Tell{.body = CertIssued{.chain = "x"}, .re = sign.re});
  }
  void perform(Close&) { closed_ = true; }
  void perform(Send& send) {
    const auto read = parse_backend_message(encode(send.message, send.version));
    require(bool(read), "what is sent can be read");
  }
  void perform(auto&) {}
  void only_accepted() const { require(was_accepted_, "nothing is done for a peer that was not accepted"); }

  const bool is_certified_, accepts_tokens_;
  const unsigned verdict_;
  bool was_accepted_ = false, closed_ = false;
  int enrolments_ = 0;
  std::uint64_t last_seq_ = 0;
  BackendSession session_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Shell shell(data[0]);
  std::string_view rest = fuzz::text_of(data + 1, size - 1);
  while (!rest.empty()) {
    auto message = parse_agent_message(fuzz::next_part(rest, '\n'));
    if (!message) continue;
    check_decoded(*message);
    shell.step(Received{std::move(*message)});
  }
  return 0;
}
