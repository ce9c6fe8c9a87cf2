// Which tokens may be made. Pure: what is wanted and what there is go in, a decision comes out. Any thread.
#pragma once

#include <optional>
#include <string_view>

#include "backend/domain/access/identity.hpp"
#include "base/result.hpp"

namespace backend::domain {

// `exists` when there are `most` already. `what`: "tokens".
base::Result<void> check_room(std::size_t live, std::size_t most, std::string_view what);

// `holder`: the token that has the name and is not revoked. One that has expired does not keep it.
base::Result<void> check_new_token(const OperatorToken& token, std::size_t live,
                                   const std::optional<OperatorToken>& holder, Millis now);

// What a token lives for when nobody says otherwise. The one of <data>/admin.token does not end: it is the
// way in when all others have, and whoever can read that file has the database beside it.
inline constexpr Millis kTokenLife = 90LL * 24 * 3600 * 1000;

// From when on its holder is told that it ends: two weeks before, or the last quarter of a shorter life. 0:
// it does not end.
Millis warns_from(const OperatorToken& token);

}  // namespace backend::domain
