// Where the body of an answer goes, piece by piece.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace transport {

class BodySink {
 public:
  virtual ~BodySink() = default;
  // Once per answer, before any byte of it: what follows belongs at this place, 0 or where the question
  // began.
  virtual base::Result<void> begin(std::uint64_t at) = 0;
  // An error ends the transfer, and is its error.
  virtual base::Result<void> take(std::string_view bytes) = 0;
};

}  // namespace transport
