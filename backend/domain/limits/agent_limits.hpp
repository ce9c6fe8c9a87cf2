// How much one agent may say, by the kind of what it says. docs/security.md has the figures.
//
// What honest agents send never meets a limit but for the first two kinds, and there a limit only makes them
// wait: a report is read later, and none is lost. Pure; whoever calls brings the time, in milliseconds that
// do not go back. One thread per object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/domain/limits/token_bucket.hpp"
#include "backend/domain/model.hpp"

namespace backend::domain {

enum class MessageKind : std::uint8_t { report, facts, certificate, handshake, waits, output, answer, other };
inline constexpr std::size_t kMessageKinds = 8;

MessageKind kind_of(const protocol::AgentBody& body);

// What becomes of a message that is over its limit.
enum class OverLimit : std::uint8_t {
  delay,   // it counts, and the next one is read later
  gather,  // it waits for its turn, together with those that come after it
  drop,    // it may be lost by the rules of the protocol
  refuse,  // it is answered with words
};

struct MessageLimit {
  BucketLimits bucket;
  OverLimit over = OverLimit::delay;
};
const MessageLimit& limit_of(MessageKind kind);

// Of all that an agent sends, in bytes. A whole spool (64 MiB) comes in at once.
inline constexpr BucketLimits kMessageBytes{.at_once = 64.0 * 1024 * 1024, .per_second = 2.0 * 1024 * 1024};
// No single delay is longer: an agent that hears nothing for two of its heartbeats (5 s at the least) gives
// the connection up.
inline constexpr Millis kLongestDelay = 5000;
// After each one that is gathered or refused: answers cost something, too.
inline constexpr Millis kOverDelay = 20;

// What one machine has used of its limits, over all of its connections.
class AgentLimits {
 public:
  struct Verdict {
    bool is_over = false;  // the limit's OverLimit says what to do; never with OverLimit::delay
    Millis delay = 0;      // before the next message is read
  };
  Verdict take(MessageKind kind, std::size_t bytes, Millis now);

  // How long until another one of that kind is within the limit; 0: it is.
  Millis wait(MessageKind kind, Millis now) const;
  // Nothing is used: it may be forgotten.
  bool is_idle(Millis now) const;

 private:
  std::array<TokenBucket, kMessageKinds> buckets_;
  TokenBucket bytes_;
};

}  // namespace backend::domain
