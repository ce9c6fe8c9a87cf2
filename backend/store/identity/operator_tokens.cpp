#include "backend/store/identity/operator_tokens.hpp"

#include "backend/domain/access/token_rules.hpp"
#include "backend/store/history/audit.hpp"
#include "backend/store/transaction.hpp"

namespace backend::store {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

Result<domain::OperatorToken> check_and_add(Store& store, const domain::OperatorToken& token,
                                            domain::Millis now) {
  auto live = store.count_live_tokens(now);
  if (!live) return std::move(live).error();
  auto holder = store.token_named(token.name);
  if (!holder) return std::move(holder).error();
  if (auto may = domain::check_new_token(token, *live, *holder, now); !may) return std::move(may).error();
  if (*holder)  // it has expired
    if (auto freed = store.set_token_revoked((*holder)->id, now); !freed) return std::move(freed).error();
  domain::OperatorToken stored = token;
  stored.created = now;
  if (auto added = store.insert_token(stored); !added) return std::move(added).error();
  return stored;
}

// Whether there was one before.
Result<bool> replace_admin(Store& store, const std::string& id, const std::string& secret_hash,
                           domain::Millis now) {
  auto before = store.token_named(domain::kAdminName);
  if (!before) return std::move(before).error();
  if (*before)
    if (auto revoked = store.set_token_revoked((*before)->id, now); !revoked)
      return std::move(revoked).error();
  auto added = check_and_add(store,
                             {.id = id,
                              .name = std::string(domain::kAdminName),
                              .role = "admin",
                              .scope = "",
                              .secret_hash = secret_hash,
                              .created_by = "opsbackend"},
                             now);
  if (!added) return std::move(added).error();
  return before->has_value();
}

}  // namespace

Result<domain::OperatorToken> add_token(Store& store, const domain::OperatorToken& token,
                                        domain::Millis now) {
  return in_transaction(store, [&] { return check_and_add(store, token, now); });
}

Result<domain::OperatorToken> revoke_token(Store& store, std::string_view name, domain::Millis now) {
  return in_transaction(store, [&]() -> Result<domain::OperatorToken> {
    auto token = store.token_named(name);
    if (!token) return std::move(token).error();
    if (!*token) return Error(ErrorCode::not_found, "there is no token '" + std::string(name) + "'");
    if (auto done = store.set_token_revoked((*token)->id, now); !done) return std::move(done).error();
    (*token)->revoked = now;
    return std::move(**token);
  });
}

Result<void> set_admin_token(Store& store, const std::string& id, const std::string& secret_hash,
                             domain::Millis now) {
  return store.transact([&]() -> Result<void> {
    auto known = store.find_token(id);
    if (!known) return std::move(known).error();
    if (*known) return {};
    auto replaced = replace_admin(store, id, secret_hash, now);
    if (!replaced) return std::move(replaced).error();
    domain::AuditRow row{.at = now,
                         .actor = "opsbackend",
                         .action = "token.create",
                         .object = std::string(domain::kAdminName)};
    row.detail = *replaced ? "role=admin, from the data folder; the one before is revoked"
                           : "role=admin, from the data folder";
    return add_audit(store, row);
  });
}

}  // namespace backend::store
