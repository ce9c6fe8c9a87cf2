// Inside transport/: one GET whose body goes to a sink as it comes, for download.cpp.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "transport/client/download.hpp"
#include "transport/uri.hpp"

namespace transport {

// Where a body goes.
class BodySink {
 public:
  virtual ~BodySink() = default;
  // Once, before any byte: what follows belongs at this place, 0 or TransferRequest::from.
  virtual base::Result<void> begin(std::uint64_t at) = 0;
  virtual base::Result<void> take(std::string_view bytes) = 0;
};

struct TransferRequest {
  Uri uri;
  std::uint64_t from = 0;   // asks for the rest of the body; below `limit`
  std::uint64_t limit = 0;  // of the whole body
  bool exact = false;
};

enum class TransferEnd {
  complete,
  no_such_range,  // the server has nothing from `from` on; the sink has seen nothing
};

// Blocks. The errors are those of download().
base::Result<TransferEnd> transfer(const TransferRequest& request, const FetchOptions& options,
                                   BodySink& sink);

}  // namespace transport
