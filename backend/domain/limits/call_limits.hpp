// How much of the API one token may take, so that there is enough for the others. Pure; any thread.
// docs/security.md, "Limits", says why each is what it is.
#pragma once

#include <cstddef>
#include <string>

#include "backend/domain/limits/rate_limit.hpp"

namespace backend::domain {

// Calls of one token. opsctl's largest list, a million machines, is a thousand calls in a row; a dashboard
// makes a few a second.
inline constexpr RateLimit::Limits kCallsPerToken{.at_once = 2000, .per_second = 200, .keys = 10'000};
// Calls of one token whose answers have not been taken yet. Plans and runs wait for machines, up to an hour.
inline constexpr std::size_t kCallsAtOnce = 64;
// Bodies of one token's requests, from their announcement to the answer: four of the largest recipes at once.
inline constexpr std::size_t kBodyBytesAtOnce = std::size_t{16} << 20;
// Answers of one token that have not been taken yet: eight of the largest pages (kMostPageBytes).
inline constexpr std::size_t kAnswerBytesAtOnce = std::size_t{32} << 20;

// Event streams: of all, of one token, and the places of all that only tokens without a stream get.
inline constexpr std::size_t kMostEventStreams = 1000;
inline constexpr std::size_t kStreamsPerToken = 32;
inline constexpr std::size_t kReservedStreams = 200;

enum class StreamVerdict { open, too_many_of_token, too_many };
// `own`: that the token has open; `all`: that all have.
StreamVerdict decide_stream(std::size_t own, std::size_t all);
// What to do about it.
std::string explain(StreamVerdict verdict);

}  // namespace backend::domain
