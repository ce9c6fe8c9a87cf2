#include "backend/api/callers/token_cache.hpp"

#include "backend/domain/access/operator_token.hpp"
#include "backend/domain/access/token_rules.hpp"
#include "base/token.hpp"

namespace backend::api {

namespace {

bool has_ended(const TokenCache::Entry& entry, domain::Millis now) {
  return entry.expires != 0 && entry.expires <= now;
}

}  // namespace

std::optional<Role> role_of(std::string_view name) {
  for (const Role role : {Role::viewer, Role::operator_, Role::admin})
    if (name == name_of(role)) return role;
  return std::nullopt;
}

std::string_view name_of(Role role) {
  switch (role) {
    case Role::anyone:
      return "anyone";
    case Role::viewer:
      return "viewer";
    case Role::operator_:
      return "operator";
    case Role::admin:
      return "admin";
  }
  return "anyone";
}

void TokenCache::put(const domain::OperatorToken& token) {
  const auto role = role_of(token.role);
  if (!role || token.revoked != 0) return;
  Entry entry{.caller = {.token_id = token.id,
                         .name = token.name,
                         .role = *role,
                         .scope = {},
                         .expires = token.expires,
                         .warn_from = domain::warns_from(token)},
              .secret_hash = token.secret_hash,
              .expires = token.expires,
              .last_used = token.last_used};
  if (!token.scope.empty()) {
    auto scope = domain::Selector::parse(token.scope);
    if (!scope) return;
    entry.caller.scope = scope->strict();  // whom it reaches does not rest on what machines say
  }
  entries_.insert_or_assign(token.id, std::move(entry));
}

TokenCache::Entry* TokenCache::find(std::string_view text, domain::Millis now) {
  const domain::TokenProof proof = domain::proof_of_token(text);
  const auto found = entries_.find(proof.id);
  if (found == entries_.end()) return nullptr;
  if (!base::equal_in_constant_time(found->second.secret_hash, proof.secret_hash)) return nullptr;
  return has_ended(found->second, now) ? nullptr : &found->second;
}

bool TokenCache::is_good(const std::string& id, domain::Millis now) const {
  const auto found = entries_.find(id);
  return found != entries_.end() && !has_ended(found->second, now);
}

bool TokenCache::is_due(const std::string& id, domain::Millis now) {
  const auto found = entries_.find(id);
  if (found == entries_.end() || now - found->second.last_used < domain::kCoarseUse) return false;
  found->second.last_used = now;
  return true;
}

}  // namespace backend::api
