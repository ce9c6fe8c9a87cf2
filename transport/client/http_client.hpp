// HttpClient: blocking requests to one server, for command lines.
//
// Has a loop of its own that runs inside each call; not for use on another loop's thread. One thread at a
// time. The connection is kept between calls.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "transport/client/proxies.hpp"
#include "transport/http.hpp"
#include "transport/tls.hpp"
#include "transport/uri.hpp"

namespace transport {

struct HttpClientOptions {
  Uri server;  // its target is ignored
  std::optional<Proxy> proxy;
  std::shared_ptr<TlsClient> tls;  // for https://
  std::string user_agent = "opsctl";
  Headers headers;  // sent with every request, e.g. Authorization
  std::size_t max_body = 64 * 1024 * 1024;
  std::size_t max_event = 8 * 1024 * 1024;
  std::chrono::milliseconds resolve_timeout = std::chrono::seconds(10);
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);  // for each address
  std::chrono::milliseconds tls_timeout = std::chrono::seconds(30);
  std::chrono::milliseconds answer_timeout = std::chrono::seconds(60);  // request sent to reply complete
  // A stream that is silent for so long (not even a comment) is dead.
  std::chrono::milliseconds stream_idle_timeout = std::chrono::seconds(60);
};

struct HttpCall {
  std::string method = "GET";
  std::string target = "/";  // path and query, encoded
  Headers headers = {};
  std::string body = {};
};

struct HttpReply {
  unsigned status = 0;
  Headers headers;
  std::string body;

  std::string_view header(std::string_view name) const { return find_header(headers, name); }
};

class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Any answer of the server is a reply, 404 and 500 too. An error: there was no (whole) answer.
  base::Result<HttpReply> request(HttpCall call);

  // Calls `on_event` for each server-sent event until it answers false or the server ends the stream. A reply
  // that is not 200 comes back with its body, and no event. `last_event_id`: resume after that one; empty:
  // from now.
  base::Result<HttpReply> stream(HttpCall call, std::string last_event_id,
                                 std::function<bool(const ServerEvent&)> on_event);

  // The key of the server that answered last: SHA-256, in hex, of its certificate's SubjectPublicKeyInfo
  // (DER). Empty: no TLS, or nobody has answered yet.
  const std::string& server_key_hash() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The error of a call means that the server was not reached, or went away (opsctl's exit status 3).
bool unreachable(const base::Error& error);

}  // namespace transport
