#include "backend/domain/token_rules.hpp"

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

}  // namespace backend::domain
