#include "backend/domain/access/ownership.hpp"

#include <doctest/doctest.h>

namespace {

using namespace backend::domain;

std::optional<Selector> scope(std::string_view text) {
  return Selector::parse(text)->strict();  // as tokens have theirs
}

}  // namespace

TEST_CASE("a recipe is pushed by those who reach every machine of its owner's, and by nobody else") {
  CHECK(owns(std::nullopt, ""));
  CHECK(owns(std::nullopt, "role=web"));
  CHECK_FALSE(owns(scope("role=web"), ""));
  CHECK_FALSE(owns(scope("*"), ""));  // a scope is a scope: when in doubt, no
  CHECK(owns(scope("role=web"), "role=web"));
  CHECK(owns(scope("role in (web, db)"), "role=web"));
  CHECK(owns(scope("role=web"), "role=web and zone=eu"));
  CHECK_FALSE(owns(scope("role=web and zone=eu"), "role=web"));  // its next assignment may be for zone=us
  CHECK_FALSE(owns(scope("role=db"), "role=web"));
  CHECK_FALSE(owns(scope("role=db"), "role="));  // not understood
  CHECK(owns(scope("fact.os.id=debian"), "fact.os.id=debian"));
  CHECK_FALSE(owns(scope("role=web"), "self.role=web"));
}

TEST_CASE("an assignment follows a recipe only where everybody who may push it reaches its machines") {
  CHECK(may_follow("", *Selector::parse("*")));
  CHECK(may_follow("role=web", *Selector::parse("role=web")));
  CHECK(may_follow("role=web", *Selector::parse("(role=web) and (instance=a*)")));
  CHECK_FALSE(may_follow("role=web", *Selector::parse("*")));
  CHECK_FALSE(may_follow("role=web", *Selector::parse("instance=web1")));
  CHECK_FALSE(may_follow("role=", *Selector::parse("role=web")));
  CHECK_FALSE(is_to_pin(std::nullopt, "", *Selector::parse("*")));
  CHECK(is_to_pin(std::nullopt, "role=web", *Selector::parse("*")));
  CHECK(is_to_pin(scope("role=web"), "", *Selector::parse("role=web")));
  CHECK_FALSE(is_to_pin(scope("role=web"), "role=web", *Selector::parse("(role=web) and (zone=eu)")));
}
