#include "backend/domain/limits/call_limits.hpp"

#include <doctest/doctest.h>

using namespace backend::domain;

TEST_CASE("no token takes all event streams, and who has none gets one as long as there is any") {
  CHECK(decide_stream(0, 0) == StreamVerdict::open);
  CHECK(decide_stream(kStreamsPerToken - 1, 100) == StreamVerdict::open);
  CHECK(decide_stream(kStreamsPerToken, 100) == StreamVerdict::too_many_of_token);
  const std::size_t shared = kMostEventStreams - kReservedStreams;
  CHECK(decide_stream(1, shared - 1) == StreamVerdict::open);
  CHECK(decide_stream(1, shared) == StreamVerdict::too_many);
  CHECK(decide_stream(0, shared) == StreamVerdict::open);
  CHECK(decide_stream(0, kMostEventStreams) == StreamVerdict::too_many);
  CHECK(explain(StreamVerdict::too_many_of_token).find("close some") != std::string::npos);
  CHECK(explain(StreamVerdict::open).empty());
}
