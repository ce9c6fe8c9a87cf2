#include "protocol/permissions.hpp"

#include <utility>

namespace protocol {

Verdict verdict_on(const AgentBody& body, AgentRole role) {
  const Verdict word = std::visit(
      [&]<class M>(const M&) { return permissions::kFromAgent<M>[static_cast<std::size_t>(role)]; }, body);
  if (word != Verdict::join && word != Verdict::renew) return word;
  const auto* const request = std::get_if<CertRequest>(&body);
  const bool joins = request != nullptr && !request->token.empty();
  return joins == (word == Verdict::join) ? Verdict::yes : Verdict::no;
}

Verdict verdict_on(const BackendBody& body, BackendRole role) {
  return std::visit(
      [&]<class M>(const M&) { return permissions::kFromBackend<M>[static_cast<std::size_t>(role)]; }, body);
}

}  // namespace protocol
