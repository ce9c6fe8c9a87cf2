#include "backend/domain/access/authority_rules.hpp"

#include <doctest/doctest.h>

using namespace backend::domain;

TEST_CASE("an authority that machines rely on is retired by force only, and they are named") {
  RelyingMachines relying;
  CHECK(refuse_retirement(relying, false).empty());
  relying = {.count = 1, .some = {{.app_id = "shop", .instance_id = "web1"}}};
  CHECK(refuse_retirement(relying, false).starts_with("1 machine still relies on"));
  CHECK(refuse_retirement(relying, false).find("shop/web1") != std::string::npos);
  CHECK(refuse_retirement(relying, false).find("join token") != std::string::npos);
  CHECK(refuse_retirement(relying, true).empty());
}

TEST_CASE("of many machines that rely on an authority some are named, and the others counted") {
  RelyingMachines relying{.count = 1000};
  for (int i = 0; i < 100; ++i)
    relying.some.push_back({.app_id = "a", .instance_id = "i" + std::to_string(i)});
  CHECK(names_of(relying).starts_with("a/i0, a/i1, "));
  CHECK(names_of(relying).ends_with("a/i19 and 980 more"));
  CHECK(names_of({.count = 2, .some = {{"a", "b"}, {"c", "d"}}}) == "a/b, c/d");
}
