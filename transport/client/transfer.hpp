// Inside transport/: one GET whose body goes to a sink as it comes, for download.cpp and web_file.cpp.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"
#include "transport/client/body_sink.hpp"
#include "transport/client/download.hpp"
#include "transport/http.hpp"
#include "transport/uri.hpp"

namespace transport {

struct TransferRequest {
  Uri uri;
  std::uint64_t from = 0;   // asks for the rest of the body; below `limit`
  std::uint64_t limit = 0;  // of the whole body
  bool exact = false;
  Headers headers = {};            // sent besides our own
  bool reports_redirects = false;  // a redirect is an end and not an error
  bool refuses_near = false;       // see is_near(): of the address that is connected to
};

// What the server has said before the body. All texts are its own.
struct TransferHead {
  unsigned status = 0;  // 0: it has said nothing
  // is_near() of the address that has answered; of the host in the address where a proxy has connected.
  bool is_near = false;
  std::string location = {};
  std::string etag = {};
  std::string last_modified = {};
};

enum class TransferEnd {
  complete,
  // The sink has seen nothing of these:
  no_such_range,  // the server has nothing from `from` on
  not_modified,   // 304, to a question with conditions
  redirected,     // to TransferHead::location
};

// Blocks. The errors are those of download(); `head` is also there after an error. May be null.
base::Result<TransferEnd> transfer(const TransferRequest& request, const FetchOptions& options,
                                   BodySink& sink, TransferHead* head = nullptr);

}  // namespace transport
