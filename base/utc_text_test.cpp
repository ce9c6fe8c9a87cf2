#include "base/utc_text.hpp"

#include <doctest/doctest.h>

using base::parse_utc;

TEST_CASE("instants are written and read in UTC, with milliseconds") {
  const auto at = parse_utc("2026-03-01T12:00:00.250Z");
  REQUIRE(at);
  CHECK(base::utc_text(*at) == "2026-03-01T12:00:00.250Z");
  CHECK(parse_utc("2026-03-01T14:00:00.25+02:00") == at);
  CHECK(parse_utc("2026-03-01t07:30:00.2509-04:30") == at);
  CHECK(base::utc_text(*parse_utc("1970-01-01T00:00:00Z")) == "1970-01-01T00:00:00.000Z");
}

TEST_CASE("what is not an instant is not read as one") {
  for (const char* text :
       {"", "2026", "2026-03-01", "2026-03-01T12:00:00", "2026-02-30T12:00:00Z", "2026-03-01T24:00:00Z",
        "2026-03-01T12:00:00.Z", "2026-03-01T12:00:00+2:00", "2026-03-01T12:00:00Zx",
        "2026-03-01T12:00:00+aa:00", "+026-03-01T12:00:00Z", "1699-12-31T23:59:59Z", "2201-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z"})
    CHECK_MESSAGE(!parse_utc(text), text);
}
