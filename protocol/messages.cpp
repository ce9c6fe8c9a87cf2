#include "protocol/messages.hpp"

#include "protocol/fields_agent.hpp"
#include "protocol/fields_backend.hpp"

namespace protocol {

BASE_COMPILED_HERE(AgentBody)
BASE_COMPILED_HERE(BackendBody)

bool AgentBody::operator==(const AgentBody& other) const {
  return static_cast<const variant&>(*this) == static_cast<const variant&>(other);
}
bool BackendBody::operator==(const BackendBody& other) const {
  return static_cast<const variant&>(*this) == static_cast<const variant&>(other);
}

namespace {

template <class Body>
std::string_view code_in(const Body& body) {
  return std::visit(
      []<class M>(const M& message) -> std::string_view {
        if constexpr (std::same_as<M, Unknown>)
          return message.code;
        else
          return kWire<M>.code;
      },
      body);
}

template <class Body>
int since_in(const Body& body) {
  return std::visit([]<class M>(const M&) { return kWire<M>.since; }, body);
}

template <class Seq, class Body>
Seq* seq_in(Body& body) {
  return std::visit(
      [](auto& message) -> Seq* {
        if constexpr (requires { message.seq; })
          return &message.seq;
        else
          return nullptr;
      },
      body);
}

}  // namespace

std::string_view code_of(const AgentBody& body) {
  return code_in(body);
}
std::string_view code_of(const BackendBody& body) {
  return code_in(body);
}

int since_version(const AgentBody& body) {
  return since_in(body);
}
int since_version(const BackendBody& body) {
  return since_in(body);
}

ChangeCause change_cause_of(std::string_view name) {
  for (std::size_t i = 0; i < kChangeCauseWords.size(); ++i)
    if (kChangeCauseWords[i] == name) return static_cast<ChangeCause>(i);
  return ChangeCause::none;
}

const std::optional<std::uint64_t>* seq_of(const AgentBody& body) {
  return seq_in<const std::optional<std::uint64_t>>(body);
}
std::optional<std::uint64_t>* seq_of(AgentBody& body) {
  return seq_in<std::optional<std::uint64_t>>(body);
}

}  // namespace protocol
