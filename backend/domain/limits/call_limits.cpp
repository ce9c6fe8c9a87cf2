#include "backend/domain/limits/call_limits.hpp"

namespace backend::domain {

StreamVerdict decide_stream(std::size_t own, std::size_t all) {
  if (own >= kStreamsPerToken) return StreamVerdict::too_many_of_token;
  const std::size_t open = own == 0 ? kMostEventStreams : kMostEventStreams - kReservedStreams;
  return all < open ? StreamVerdict::open : StreamVerdict::too_many;
}

std::string explain(StreamVerdict verdict) {
  switch (verdict) {
    case StreamVerdict::open:
      return {};
    case StreamVerdict::too_many_of_token:
      return "this token has " + std::to_string(kStreamsPerToken) +
             " event streams open, which is as many as one may have: close some, or use another token";
    case StreamVerdict::too_many:
      return "too many event streams are open; what is left is kept for tokens that have none: try again "
             "later";
  }
  return {};
}

}  // namespace backend::domain
