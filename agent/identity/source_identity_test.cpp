#include "agent/identity/source_identity.hpp"

#include <doctest/doctest.h>

TEST_CASE("when the configuration and the identity source name two apps, it is said which counts") {
  using agent::identity::app_conflict;
  CHECK(app_conflict("shop", {.app_id = "shop"}) == "");
  CHECK(app_conflict("shop", {}) == "");
  const std::string said = app_conflict("shop", {.app_id = "bank"});
  CHECK(said.find("'bank'") != std::string::npos);
  CHECK(said.find("'shop': the identity source's is used") != std::string::npos);
}
