// HTTP/1.1 requests over a local socket, for the engine of Docker: one connection each, blocking, with a
// deadline, and ended when the state is interrupted. Nothing that the other side sends is kept without limit.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/interrupt.hpp"
#include "base/result.hpp"

namespace states::docker {

// Called for each piece of a body as it comes; an error ends the request.
using OnBody = std::function<base::Result<void>(std::string_view piece)>;
// The next piece of a body that is sent; empty at its end.
using NextPiece = std::function<base::Result<std::string>()>;

struct HttpRequest {
  std::string method = "GET";
  std::string target;  // path and query, encoded
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string content_type = "application/json";
  std::string body{};
  NextPiece upload{};  // instead of `body`, of a length that is not known; may be empty
};

struct HttpReply {
  int status = 0;
  std::string body;  // empty where on_body took it

  bool ok() const { return status >= 200 && status < 300; }
};

class UnixHttp {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  UnixHttp(std::string socket, base::Interrupt& interrupt, Deadline deadline)
      : socket_(std::move(socket)), interrupt_(interrupt), deadline_(deadline) {}

  // Every status is a reply. An error: nobody listens there (not_found, permission), the deadline
  // (timed_out), cancelled, or an answer that is none (io, limit). With `on_body` the body of a good reply
  // goes there; that of another is kept. `idle`: how long the other side may be silent.
  base::Result<HttpReply> request(const HttpRequest& request, std::chrono::milliseconds idle,
                                  const OnBody& on_body = {});

 private:
  std::string socket_;
  base::Interrupt& interrupt_;
  Deadline deadline_;
};

// For paths and queries.
std::string percent_encoded(std::string_view text);

}  // namespace states::docker
