#include "agent/connection/enrolment.hpp"

#include "base/text.hpp"
#include "protocol/codec.hpp"

namespace agent::connection {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using transport::Task;

// The backend counts the token's use and signs: it is quick, unless two thousand machines come at once.
constexpr std::chrono::milliseconds kAnswerWithin = std::chrono::seconds(60);

// Ends the connection when the answer is late.
Task<> give_up_later(std::weak_ptr<transport::WebSocket> weak) {
  co_await transport::sleep_for(kAnswerWithin);
  if (const auto socket = weak.lock()) socket->abort();
}

Result<protocol::CertIssued> read_answer(const std::string& text) {
  auto message = protocol::parse_backend_message(text);
  if (!message) return std::move(message).error();
  if (auto* issued = std::get_if<protocol::CertIssued>(&message->body)) return std::move(*issued);
  if (const auto* refused = std::get_if<protocol::Nack>(&message->body))
    return Error(refused->retryable ? ErrorCode::io : ErrorCode::permission,
                 "the backend refused: " + base::quote_of(refused->error));
  return Error(ErrorCode::invalid,
               "the backend answered with " + std::string(protocol::code_of(message->body)));
}

}  // namespace

Task<Result<void>> enrol(transport::DialOptions way, EnrolmentWish wish, identity::Membership& membership) {
  auto tls = membership.tls_for_enrolment();
  if (!tls) co_return std::move(tls).error();
  auto request = membership.ask_to_enrol(std::move(wish.app_id), std::move(wish.instance_id));
  if (!request) co_return std::move(request).error();
  way.tls = std::move(*tls);
  auto socket = co_await transport::dial(std::move(way));
  if (!socket) co_return std::move(socket).error();
  transport::spawn((*socket)->executor(), give_up_later(*socket));

  protocol::AgentMessage message{protocol::AgentBody(std::move(*request)), {.mid = "enrol"}};
  transport::Text text = transport::make_text(protocol::encode(message));
  auto written = co_await (*socket)->write(std::move(text));
  if (!written) co_return std::move(written).error();
  auto answer = co_await (*socket)->read();
  if (!answer) co_return std::move(answer).error();
  auto issued = read_answer(*answer);
  // Kept first: until then a kill would cost a use of the token.
  auto accepted = issued ? membership.accept(*issued) : Result<void>(std::move(issued).error());
  if (!accepted && accepted.error().code() == ErrorCode::permission) membership.token_refused();
  auto closing = (*socket)->close(transport::close_code::kNormal, "");
  co_await std::move(closing);
  co_return accepted;
}

}  // namespace agent::connection
