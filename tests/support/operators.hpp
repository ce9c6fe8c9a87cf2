// Calls of the API by operators with tokens of their own.
#pragma once

#include <string>

#include "tests/support/described.hpp"
#include "tests/support/live_backend.hpp"

namespace tests {

// "" is no token.
inline transport::HttpReply call_as(const LiveBackend& backend, const std::string& token,
                                    const std::string& method, const std::string& target,
                                    const std::string& body = {}) {
  transport::HttpClient client(backend.client_options(false));
  transport::Headers headers;
  if (!token.empty()) headers.push_back({"Authorization", "Bearer " + token});
  if (!body.empty()) headers.push_back({"Content-Type", "application/json"});
  auto reply = client.request({method, "/api/v1" + target, std::move(headers), body});
  if (!reply) FAIL(reply.error().message());
  check_described(method, target, *reply);
  return std::move(*reply);
}

// A new token; its text.
inline std::string make_token(const LiveBackend& backend, const std::string& name, const std::string& role,
                              const std::string& scope = {}) {
  const auto reply = backend.call("POST", "/tokens",
                                  R"({"name":")" + name + R"(","role":")" + role + "\"" +
                                      (scope.empty() ? "" : R"(,"scope":")" + scope + "\"") + "}");
  REQUIRE_MESSAGE(reply.status == 201, reply.body);
  return JsonView(reply.body).text("token");
}

}  // namespace tests
