#include "backend/domain/access/token_rules.hpp"

#include <doctest/doctest.h>

namespace backend::domain {

TEST_CASE("a token may be made when its name is free and there is room") {
  OperatorToken token;
  token.name = "ann";
  OperatorToken holder = token;
  using base::ErrorCode;
  CHECK(check_new_token(token, 0, std::nullopt, 10));
  CHECK(check_new_token(token, kMostTokens - 1, std::nullopt, 10));
  CHECK(check_new_token(token, kMostTokens, std::nullopt, 10).error().code() == ErrorCode::exists);
  CHECK(check_new_token(token, 1, holder, 10).error().code() == ErrorCode::exists);
  holder.expires = 11;
  CHECK(check_new_token(token, 1, holder, 10).error().code() == ErrorCode::exists);
  holder.expires = 10;
  CHECK(check_new_token(token, 1, holder, 10));
  token.name = "odd name";
  CHECK(check_new_token(token, 0, std::nullopt, 10).error().code() == ErrorCode::invalid);
}

TEST_CASE(
    "the holder of a token is warned two weeks before its end, or in the last quarter of a short life") {
  constexpr Millis kDay = 24LL * 3600 * 1000;
  OperatorToken token;
  token.created = 1000;
  CHECK(warns_from(token) == 0);
  token.expires = token.created + kTokenLife;
  CHECK(warns_from(token) == token.expires - 14 * kDay);
  token.expires = token.created + 4000;
  CHECK(warns_from(token) == token.expires - 1000);
}

}  // namespace backend::domain
