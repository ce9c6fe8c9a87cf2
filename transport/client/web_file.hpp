// fetch_web_file(): a file from anywhere on the web, for states: redirects are followed, what is known
// already is not sent again, and a beginning is continued only if it is one of the same file.
//
// Blocking, with a loop of its own that runs inside the call; from any thread that has no loop. Memory does
// not grow with what is sent. The server is not trusted: see download.hpp. What it sends without a length and
// without a checksum can be cut off by whoever is on the way of plain http, and nobody can tell.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "transport/client/download.hpp"

namespace transport {

// What a server calls the state of a file (RFC 9110, section 8.8).
struct Validators {
  std::string etag = {};
  std::string last_modified = {};

  bool empty() const { return etag.empty() && last_modified.empty(); }
  bool operator==(const Validators&) const = default;
};

struct WebFileRequest {
  std::string url;        // http:// or https://; may hold name:password@, which is told to that host only
  Validators known = {};  // of a copy that is there: if they still hold, nothing is sent
  // The first bytes are there already, of a file with these validators. Without a usable one: sent anew.
  std::uint64_t from = 0;
  Validators begun = {};
  std::uint64_t limit = 0;  // bytes, of the whole file
};

// Where the file goes.
class WebFileSink {
 public:
  virtual ~WebFileSink() = default;
  // What follows belongs at this place: 0, or WebFileRequest::from. May come again at 0.
  virtual base::Result<void> begin(std::uint64_t at, const Validators& validators) = 0;
  // An error ends the transfer, and is its error.
  virtual base::Result<void> take(std::string_view bytes) = 0;
};

struct WebFileAnswer {
  bool not_modified = false;  // `known` still holds; the sink has seen nothing
  Validators validators = {};
};

// At most so many; the last one's answer counts.
inline constexpr int kMostRedirects = 10;

// Errors: those of download(), as reasons that do not repeat the address: "HTTP 404", "connection refused by
// 127.0.0.1:80". `invalid` for a redirect that is not followed: too many, to a place that is none, from https
// to http, or from elsewhere to this machine or its own link (is_near(), judged by the address that would be
// connected to; behind a proxy by the host in the address, for only the proxy knows more).
base::Result<WebFileAnswer> fetch_web_file(const WebFileRequest& request, const FetchOptions& options,
                                           WebFileSink& sink);

// The address without name and password, for people.
std::string without_credentials(std::string_view url);

// For https: whom the system believes, or the authorities in `ca_file` or SSL_CERT_FILE of the environment.
// A system without any is an error of the first connection and not of this call.
base::Result<std::shared_ptr<TlsClient>> system_trust(const std::string& ca_file = {});
// In PEM; "" where there are none.
std::string system_authorities();

}  // namespace transport
