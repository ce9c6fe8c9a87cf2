// Routes: the API as a table. Dispatch, 404, 405, limits on bodies and the check of the OpenAPI document all
// follow from the rows.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/api/callers/caller.hpp"
#include "transport/http.hpp"

namespace backend::api {

struct Context;

using transport::HttpRequest;
using transport::HttpResponse;
using transport::Task;

// What a route can show or change. A token with a scope may call the first kind, which looks at the scope.
enum class Reach { scoped, everything };

enum class Body { none, json, recipe, changes };

inline constexpr std::size_t kSmallBody = 1024 * 1024;
inline constexpr std::size_t kRecipeBody = 4 * 1024 * 1024;
// Several recipes in one call. A token may have two such under way (domain::kBodyBytesAtOnce).
inline constexpr std::size_t kChangesBody = 8 * 1024 * 1024;

// A request that has found its route. Lives until the handler has answered.
struct Call {
  HttpRequest http;
  std::vector<std::string> captured;  // what stands for the {…} of the pattern, in order
  Caller caller;
  Actor actor;  // for the audit
};

using Handler = Task<HttpResponse> (*)(Context& context, const Call& call);

struct Route {
  std::string_view method;
  std::string_view pattern;  // below /api/v1: "/apps/{app}"
  std::string_view summary;
  Role role = Role::viewer;
  Body body = Body::none;
  Handler handler = nullptr;
  std::string_view queries = {};  // the names of its query parameters, separated by blanks
  Reach reach = Reach::scoped;
};

// One group per file.
std::span<const Route> app_routes();
std::span<const Route> instance_routes();
std::span<const Route> recipe_routes();
std::span<const Route> recipe_push_routes();
std::span<const Route> module_routes();
std::span<const Route> assignment_routes();
std::span<const Route> apply_routes();
std::span<const Route> variable_routes();
std::span<const Route> request_routes();
std::span<const Route> pause_routes();
std::span<const Route> rollout_routes();
std::span<const Route> result_routes();
std::span<const Route> failure_routes();
std::span<const Route> fleet_routes();
std::span<const Route> event_routes();
std::span<const Route> token_routes();
std::span<const Route> join_token_routes();
std::span<const Route> installation_routes();

std::span<const Route> authority_routes();

// All of them.
std::vector<Route> all_routes();

// In every answer over TLS: another value when the authorities that vouch for this backend are others.
inline constexpr std::string_view kAuthoritiesHeader = "OpsAgent-Authorities";

inline constexpr std::string_view kPrefix = "/api/v1";

// The served description of the routes.
std::string_view openapi_document();

// How large a body the sender of this head may send: little where it cannot be of use, because of the route
// or of who sends it; nothing when the token has as much under way as it may. Sets the room for the body
// aside, in request.held. For all requests, also those that are not below kPrefix.
std::size_t body_limit(Context& context, HttpRequest& request);

// The answer to a body of which no more is read, because of body_limit().
Task<HttpResponse> refuse_large(Context& context, HttpRequest request);

// Answers requests below kPrefix: finds the route, checks who calls and what comes with it, calls the
// handler.
Task<HttpResponse> dispatch(Context& context, HttpRequest request);

}  // namespace backend::api
