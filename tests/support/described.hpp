// Whether an answer of the API is one that openapi.json describes, for tests.
#pragma once

#include <string>

#include "transport/client/http_client.hpp"

namespace tests {

// Fails the test when the route may not answer with this status, with this media type, with one of these
// headers or with such a body. `target`: below /api/v1. Nothing is checked where there is no such route.
void check_described(const std::string& method, const std::string& target, const transport::HttpReply& reply);

}  // namespace tests
