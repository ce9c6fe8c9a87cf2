// Operators' tokens: making and revoking them. The rules are in domain/token_rules.hpp. For the writer
// thread.
#pragma once

#include <string>
#include <string_view>

#include "backend/store/store.hpp"

namespace backend::store {

// `exists` while another live token has the name, or when there are too many. One that has expired does not
// keep its name.
base::Result<domain::OperatorToken> add_token(Store& store, const domain::OperatorToken& token,
                                              domain::Millis now);

// The one that has the name; `not_found` if none has.
base::Result<domain::OperatorToken> revoke_token(Store& store, std::string_view name, domain::Millis now);

// What <data>/admin.token holds is the token named "admin" from now on; another one of that name is
// revoked. One that was revoked over the API stays so.
base::Result<void> set_admin_token(Store& store, const std::string& id, const std::string& secret_hash,
                                   domain::Millis now);

}  // namespace backend::store
