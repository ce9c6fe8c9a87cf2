#include "backend/domain/limits/agent_limits.hpp"

#include <doctest/doctest.h>

namespace backend::domain {

TEST_CASE("a token bucket has its number at once, then one at a time, and never more than its number") {
  constexpr BucketLimits kLimits{.at_once = 3, .per_second = 2};
  TokenBucket bucket;
  CHECK(bucket.is_full(kLimits, 0));
  for (int i = 0; i < 3; ++i)
    CHECK(bucket.take(kLimits, 1000));
  CHECK_FALSE(bucket.take(kLimits, 1000));
  CHECK(bucket.wait(kLimits, 1000) == 500);
  CHECK_FALSE(bucket.take(kLimits, 1400));
  CHECK(bucket.wait(kLimits, 1400) >= 100);
  CHECK(bucket.wait(kLimits, 1400) <= 101);  // rounded up
  CHECK(bucket.take(kLimits, 1500));
  CHECK_FALSE(bucket.is_full(kLimits, 2000));
  CHECK(bucket.is_full(kLimits, 60'000));
  for (int i = 0; i < 3; ++i)
    CHECK(bucket.take(kLimits, 60'000));
  CHECK_FALSE(bucket.take(kLimits, 60'000));
  CHECK_FALSE(bucket.take(kLimits, 1000));  // a time that went back gives nothing
}

TEST_CASE("what is borrowed from a token bucket is waited for") {
  constexpr BucketLimits kLimits{.at_once = 100, .per_second = 10};
  TokenBucket bucket;
  CHECK(bucket.borrow(kLimits, 100, 0) == 0);
  CHECK(bucket.borrow(kLimits, 20, 0) == 2000);
  CHECK(bucket.borrow(kLimits, 0, 1000) == 1000);
  CHECK(bucket.borrow(kLimits, 5, 2000) == 500);
}

TEST_CASE("an agent that comes back with 10,000 results, or with a whole spool, is not slowed down") {
  AgentLimits limits;
  for (int i = 0; i < 10'000; ++i) {
    const auto verdict = limits.take(MessageKind::report, 1024, 5);
    REQUIRE_FALSE(verdict.is_over);
    REQUIRE(verdict.delay == 0);
  }
  AgentLimits large;
  for (int i = 0; i < 512; ++i)
    REQUIRE(large.take(MessageKind::report, 128 * 1024, 5).delay == 0);
}

TEST_CASE("reports that never end are read at their rate, and none of them is refused") {
  AgentLimits limits;
  Millis now = 0;
  int reports = 0;
  while (now < 1'000'000) {
    const auto verdict = limits.take(MessageKind::report, 100, now);
    REQUIRE_FALSE(verdict.is_over);
    REQUIRE(verdict.delay <= kLongestDelay);
    now += std::max<Millis>(verdict.delay, 0);
    if (verdict.delay == 0 && reports > 100'000) now += 1;  // each takes its time
    ++reports;
  }
  CHECK(reports <= 50'000 + 200 * 1000 + 1000);
  AgentLimits by_bytes;
  double bytes = 0;
  for (now = 0; now < 600'000; bytes += 4.0 * 1024 * 1024)
    now += by_bytes.take(MessageKind::report, 4 * 1024 * 1024, now).delay;
  CHECK(bytes <= 64.0 * 1024 * 1024 + 601 * 2.0 * 1024 * 1024 + 8.0 * 1024 * 1024);
}

TEST_CASE("every kind of message has a limit of its own, and says when there is room again") {
  AgentLimits limits;
  for (int i = 0; i < 100'000; ++i)
    limits.take(MessageKind::report, 0, 0);
  int facts = 0, certificates = 0, outputs = 0;
  for (int i = 0; i < 5000; ++i) {
    facts += limits.take(MessageKind::facts, 0, 0).is_over ? 0 : 1;
    certificates += limits.take(MessageKind::certificate, 0, 0).is_over ? 0 : 1;
    outputs += limits.take(MessageKind::output, 0, 0).is_over ? 0 : 1;
  }
  CHECK(facts == 4);
  CHECK(certificates == 20);
  CHECK(outputs == 2000);
  CHECK(limits.wait(MessageKind::facts, 0) == 10'000);
  CHECK(limits.wait(MessageKind::certificate, 0) == 1000);
  CHECK(limits.wait(MessageKind::handshake, 0) == 0);
  CHECK_FALSE(limits.is_idle(1000));
  CHECK(limits.is_idle(1'000'000));
  CHECK_FALSE(limits.take(MessageKind::facts, 0, 10'000).is_over);
  CHECK(limits.take(MessageKind::facts, 0, 10'000).is_over);
}

TEST_CASE("reports are counted as reports, whichever they are") {
  CHECK(kind_of(protocol::StateLog{}) == MessageKind::report);
  CHECK(kind_of(protocol::RoundEnd{}) == MessageKind::report);
  CHECK(kind_of(protocol::RecipeStatus{}) == MessageKind::report);
  CHECK(kind_of(protocol::UpdateStatus{}) == MessageKind::report);
  CHECK(kind_of(protocol::Unknown{}) == MessageKind::other);
  CHECK(kind_of(protocol::Facts{}) == MessageKind::facts);
}

}  // namespace backend::domain
