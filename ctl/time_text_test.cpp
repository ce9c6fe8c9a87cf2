#include "ctl/time_text.hpp"

#include <doctest/doctest.h>

#include "base/utc_text.hpp"

using namespace std::chrono_literals;
using ctl::Instant;

TEST_CASE("instants are read with fractions and offsets, and written in UTC") {
  CHECK(base::utc_text(*ctl::parse_instant("2026-03-01T12:00:00Z")) == "2026-03-01T12:00:00.000Z");
  CHECK(base::utc_text(*ctl::parse_instant("2026-03-01T12:00:00.1234+02:00")) == "2026-03-01T10:00:00.123Z");
  CHECK(base::utc_text(*ctl::parse_instant("2026-02-28T23:30:00-01:00")) == "2026-03-01T00:30:00.000Z");
  for (const char* text : {"", "yesterday", "2026-02-30T00:00:00Z", "2026-03-01T25:00:00Z",
                           "2026-03-01T12:00:00", "2026-03-01T12:00:00Zx"})
    CHECK_MESSAGE(!ctl::parse_instant(text), text);
}

TEST_CASE("ages are short, whether the instant is text or milliseconds") {
  const Instant now = *ctl::parse_instant("2026-03-01T12:00:00Z");
  const auto age = [&](auto before) {
    return ctl::age_text(base::Value::integer((now - before).time_since_epoch().count()), now);
  };
  CHECK(age(0ms) == "just now");
  CHECK(age(-5000ms) == "just now");
  CHECK(age(40s) == "40s ago");
  CHECK(age(3min) == "3m ago");
  CHECK(age(5h) == "5h ago");
  CHECK(age(std::chrono::days(12)) == "12d ago");
  CHECK(ctl::age_text(base::Value::string("2026-03-01T11:57:00Z"), now) == "3m ago");
  CHECK(ctl::age_text(base::Value(), now).empty());
  CHECK(ctl::age_text(base::Value::integer(0), now).empty());
}

TEST_CASE("--since takes an age or an instant") {
  const Instant now = *ctl::parse_instant("2026-03-01T12:00:00Z");
  CHECK(*ctl::parse_since("90s", "--since", now) == now - 90s);
  CHECK(*ctl::parse_since("2h", "--since", now) == now - 2h);
  CHECK(*ctl::parse_since("2026-02-01T00:00:00Z", "--since", now) ==
        *ctl::parse_instant("2026-02-01T00:00:00Z"));
  for (const char* text : {"", "h", "2", "-2h", "2w", "soon"})
    CHECK_MESSAGE(!ctl::parse_since(text, "--since", now), text);
  CHECK(ctl::parse_since("soon", "--until", now).error().message().starts_with("--until must be an age"));
}

TEST_CASE("--ttl takes a time with its unit, and what is to come is told in the same units") {
  const Instant now = *ctl::parse_instant("2026-03-01T12:00:00Z");
  CHECK(*ctl::parse_duration("15m", "--ttl") == 15min);
  CHECK(*ctl::parse_duration("7d", "--ttl") == std::chrono::days(7));
  for (const char* text : {"", "m", "15", "0s", "-1m", "1w"})
    CHECK_MESSAGE(!ctl::parse_duration(text, "--ttl"), text);
  CHECK(ctl::until_text(base::Value::string("2026-03-01T12:15:00Z"), now) == "in 15m");
  CHECK(ctl::until_text(base::Value::string("2026-03-08T12:00:00Z"), now) == "in 7d");
  CHECK(ctl::until_text(base::Value::string("2026-03-01T11:00:00Z"), now) == "now");
  CHECK(ctl::until_text(base::Value(), now).empty());
}
