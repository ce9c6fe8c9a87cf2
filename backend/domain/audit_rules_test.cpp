#include "backend/domain/audit_rules.hpp"

#include <doctest/doctest.h>

#include "backend/domain/audit_chain.hpp"

namespace backend::domain {

namespace {

AuditRow denied_row(const std::string& actor, Millis at) {
  AuditRow row{.at = at, .actor = actor, .action = "login", .object = "x", .detail = ""};
  row.result = kDenied;
  return row;
}

}  // namespace

TEST_CASE("what was done is always taken; of refusals as many as the bound, by who and what") {
  RefusalLimit limit;
  int taken = 0;
  for (int i = 0; i < 150; ++i)
    taken += limit.take(denied_row("ann", 1000)) ? 1 : 0;
  CHECK(taken == 100);
  CHECK(limit.take(denied_row("bob", 1000)));
  AuditRow done = denied_row("ann", 1000);
  done.result = kDone;
  CHECK(limit.take(done));

  const auto later = limit.take(denied_row("ann", 1000 + 10'000));
  REQUIRE(later);
  CHECK(later->detail == "(and 50 more before it)");
  CHECK(limit.take_missed(5).empty());
}

TEST_CASE("refusals that were counted are told of in the end") {
  RefusalLimit limit;
  for (int i = 0; i < 103; ++i)
    limit.take(denied_row("ann", 1000));
  const auto rows = limit.take_missed(2000);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at == 2000);
  CHECK(rows[0].object == "login by ann");
  CHECK(rows[0].detail == "3 more that were not noted one by one");
  CHECK(limit.take_missed(2000).empty());
}

TEST_CASE("the next audit row has the next id, the chain, and fields that everybody can read") {
  const AuditHead head{.id = 7, .chain = std::string(kNoChain)};
  AuditRow row{.at = 5, .actor = std::string("a\xff\0b", 4), .action = "x", .object = "y", .detail = ""};
  row.object = std::string(100'000, 'x');
  const AuditRow next = next_audit_row(head, row);
  CHECK(next.id == 8);
  CHECK(next.actor == "a??b");
  CHECK(next.object.size() < kLongestAuditField + 8);
  AuditRow unchained = next;
  unchained.chain.clear();
  CHECK(next.chain == chain_after(head.chain, unchained));
}

}  // namespace backend::domain
