#include "backend/domain/access/token_rules.hpp"

#include <algorithm>

#include "protocol/ids.hpp"

namespace backend::domain {

using base::Error;
using base::ErrorCode;
using base::Result;

Result<void> check_room(std::size_t live, std::size_t most, std::string_view what) {
  if (live < most) return {};
  return Error(ErrorCode::exists, "there are " + std::to_string(most) + " " + std::string(what) +
                                      " already: revoke those that nobody needs");
}

Result<void> check_new_token(const OperatorToken& token, std::size_t live,
                             const std::optional<OperatorToken>& holder, Millis now) {
  if (const auto wrong = protocol::problem_of_name(token.name); !wrong.empty())
    return Error(ErrorCode::invalid, "a token's name " + std::string(wrong));
  if (auto room = check_room(live, kMostTokens, "tokens"); !room) return room;
  const bool is_taken = holder && (holder->expires == 0 || holder->expires > now);
  if (!is_taken) return {};
  return Error(ErrorCode::exists, "there is a token '" + token.name + "': revoke it, or choose another name");
}

Millis warns_from(const OperatorToken& token) {
  constexpr Millis kLongestWarning = 14LL * 24 * 3600 * 1000;
  if (token.expires == 0) return 0;
  const Millis life = std::max<Millis>(token.expires - token.created, 0);
  return token.expires - std::min(kLongestWarning, life / 4);
}

}  // namespace backend::domain
