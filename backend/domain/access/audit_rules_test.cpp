#include "backend/domain/access/audit_rules.hpp"

#include <doctest/doctest.h>

#include "backend/domain/access/audit_chain.hpp"

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

TEST_CASE("no agent uses up what the refusals of others are noted with, whatever it calls itself") {
  RefusalLimit limit;
  const auto refused = [](const std::string& from) {
    AuditRow row = denied_row("agent", 1000);
    row.from = from;
    return row;
  };
  int taken = 0;
  for (int port = 0; port < 1000; ++port)  // one IPv6 network has as many addresses as it likes
    taken += limit.take(refused("[2001:db8::" + std::to_string(port) + "]:1")) ? 1 : 0;
  CHECK(taken == 20);
  CHECK(limit.take(refused("[2001:db8:0:1::1]:1")));
  CHECK(limit.take(refused("192.0.2.7:1")));
  // Those with a certificate are counted by it, though they share an address.
  for (int i = 0; i < 1000; ++i)
    limit.take(refused("192.0.2.9:1"), "certificate 1");
  CHECK_FALSE(limit.take(refused("192.0.2.9:1"), "certificate 1"));
  CHECK(limit.take(refused("192.0.2.9:1"), "certificate 2"));
  const auto rows = limit.take_missed(2000);
  REQUIRE(rows.size() == 2);
  CHECK((rows[0].object + rows[1].object).find("login by agent certificate 1") != std::string::npos);
  CHECK((rows[0].object + rows[1].object).find("login by agent from 2001:db8::/64") != std::string::npos);
}

TEST_CASE("who has very many addresses fills neither the audit nor the memory") {
  RefusalLimit limit;
  int taken = 0;
  for (int i = 0; i < 100'000; ++i) {
    AuditRow row = denied_row("agent", 1000);
    row.from = "10." + std::to_string(i % 200) + "." + std::to_string(i / 200 % 200) + ".1:1";
    taken += limit.take(row) ? 1 : 0;
  }
  CHECK(taken <= 2000);
  CHECK(limit.take_missed(2000).size() < 100);
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

TEST_CASE("what is read often leaves a row an hour, and whoever reads everything is counted beyond a bound") {
  using backend::domain::ReadLimit;
  constexpr backend::domain::Millis kHour = 3600 * 1000;
  ReadLimit limit;
  CHECK(limit.take("ann", "web/1", 0) == ReadLimit::Verdict::note);
  for (int i = 1; i < 1000; ++i)
    CHECK(limit.take("ann", "web/1", i) == ReadLimit::Verdict::known);
  CHECK(limit.take("bob", "web/1", 1) == ReadLimit::Verdict::note);
  CHECK(limit.take("ann", "web/2", 1) == ReadLimit::Verdict::note);
  CHECK(limit.take("ann", "web/1", kHour + 1) == ReadLimit::Verdict::note);
  limit.forget("ann", "web/1");
  CHECK(limit.take("ann", "web/1", kHour + 2) == ReadLimit::Verdict::note);

  int noted = 0;
  for (int i = 0; i < 5000; ++i)
    noted += limit.take("cid", "all/" + std::to_string(i), 2 * kHour) == ReadLimit::Verdict::note ? 1 : 0;
  CHECK(noted == 200);
  CHECK(limit.take_missed("cid") == 4800);
  CHECK(limit.take("cid", "later/1", 2 * kHour + 10'000) == ReadLimit::Verdict::note);
  CHECK(limit.take("cid", "later/2", 2 * kHour + 10'000) == ReadLimit::Verdict::counted);
  const auto missed = limit.take_all_missed();
  REQUIRE(missed.size() == 1);
  CHECK(missed[0].first == "cid");
  CHECK(missed[0].second == 1);
}

TEST_CASE("what was read is remembered in bounded memory") {
  backend::domain::ReadLimit limit;
  for (int token = 0; token < 500; ++token)
    for (int i = 0; i < 100; ++i)
      limit.take("token" + std::to_string(token), std::to_string(i), 0);
  CHECK(limit.size() <= 16'384);
}
