#include "backend/domain/access/ownership.hpp"

namespace backend::domain {

bool owns(const std::optional<Selector>& scope, std::string_view owner) {
  if (!scope) return true;
  if (owner.empty()) return false;
  const auto owners = Selector::parse(owner);
  return owners && owners->strict().is_within(*scope);
}

std::string describe_owner(std::string_view owner) {
  return owner.empty() ? "tokens without a scope" : "the scope " + std::string(owner);
}

bool may_follow(std::string_view owner, const Selector& selector) {
  if (owner.empty()) return true;
  const auto owners = Selector::parse(owner);
  return owners && selector.strict().is_within(owners->strict());
}

}  // namespace backend::domain
