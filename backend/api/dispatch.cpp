#include <algorithm>
#include <map>

#include "backend/api/access.hpp"
#include "backend/api/callers/token_use.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/reply.hpp"
#include "backend/api/route.hpp"
#include "base/text.hpp"

namespace backend::api {

namespace {

// What stands for the {…} of a pattern; nothing when the path is another one.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path) {
  const auto wanted = base::split(pattern, '/');
  const auto given = base::split(path, '/');
  if (wanted.size() != given.size()) return std::nullopt;
  std::vector<std::string> captured;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].starts_with('{')) {
      if (given[i].empty()) return std::nullopt;
      captured.emplace_back(given[i]);
    } else if (wanted[i] != given[i]) {
      return std::nullopt;
    }
  }
  return captured;
}

std::string_view media_type(const HttpRequest& request) {
  const std::string_view type = request.header("Content-Type");
  return base::trim(type.substr(0, type.find(';')));
}

// Enough for an answer that says what is wrong; of senders and routes from which no body is wanted.
constexpr std::size_t kUnwantedBody = 16 * 1024;

std::size_t most_body(const Route& route) {
  if (route.body == Body::none) return kUnwantedBody;
  if (route.body == Body::changes) return kChangesBody;
  return route.body == Body::recipe ? kRecipeBody : kSmallBody;
}

// What the head says of the body's size: 0 without one, `otherwise` when it does not tell.
std::size_t announced_body(const HttpRequest& request, std::size_t otherwise) {
  if (!request.header("Transfer-Encoding").empty()) return otherwise;
  const auto length = base::parse_integer(request.header("Content-Length"));
  return length && *length > 0 ? static_cast<std::size_t>(*length) : 0;
}

// `route`: null when there is none.
HttpResponse too_large(const Route* route) {
  return problem(kTooLarge, "the body may have " + std::to_string(route ? most_body(*route) : kUnwantedBody) +
                                " bytes at most");
}

// The answer when the body cannot be of any use to the route.
std::optional<HttpResponse> refuse_body(const Route& route, const HttpRequest& request) {
  if (request.body.size() > most_body(route)) return too_large(&route);
  if (route.body == Body::none) return std::nullopt;
  const std::string_view type = media_type(request);
  const auto is_one_of = [&](std::initializer_list<std::string_view> types) {
    return std::ranges::any_of(types, [&](auto known) { return base::equal_ignoring_case(type, known); });
  };
  if (route.body == Body::changes && !is_one_of({"", "application/json"}))
    return problem(kUnsupportedMedia, "the body must be application/json");
  if (route.body == Body::json && !is_one_of({"", "application/json", "application/merge-patch+json"}))
    return problem(kUnsupportedMedia, "the body must be application/json");
  if (route.body == Body::recipe && !is_one_of({"", "application/json", "application/yaml", "text/yaml",
                                                "application/x-yaml", "text/x-yaml", "text/plain"}))
    return problem(kUnsupportedMedia, "a recipe must be application/yaml or application/json");
  return std::nullopt;
}

// A misspelt filter must not look like one that matches everything.
std::optional<HttpResponse> refuse_query(const Route& route, const HttpRequest& request) {
  const auto known = base::split_words(route.queries);
  for (const auto& [name, value] : request.query) {
    if (request.query.count(name) > 1)
      return problem(kBadRequest, "the parameter '" + name + "' is given twice, and only one would count");
    if (std::ranges::find(known, std::string_view(name)) != known.end()) continue;
    return problem(kBadRequest,
                   "there is no parameter '" + name + "' here" + base::did_you_mean(name, known));
  }
  return std::nullopt;
}

const std::vector<Route>& table() {
  static const std::vector<Route> kRoutes = all_routes();
  return kRoutes;
}

Task<HttpResponse> openapi(Context&, const Call&) {
  static const std::string kTag = etag(1, openapi_document());
  HttpResponse response = json_reply(kOk, std::string(openapi_document()));
  response.headers.push_back({"ETag", kTag});
  co_return response;
}

constexpr Route kOpenApi[] = {{.method = "GET",
                               .pattern = "/openapi.json",
                               .summary = "This description",
                               .role = Role::anyone,
                               .handler = openapi}};

// The route that a request is for.
struct Match {
  const Route* route = nullptr;  // null: none
  std::vector<std::string> captured;
  std::string allowed;  // the methods that the path takes
};

Match find_route(const HttpRequest& request) {
  const std::string_view path = std::string_view(request.path).substr(kPrefix.size());
  // A HEAD is a GET whose answer's body is left out, which the server does.
  const std::string_view method = request.method == "HEAD" ? std::string_view("GET") : request.method;
  Match found;
  for (const Route& route : table()) {
    auto captured = match(route.pattern, path);
    if (!captured) continue;
    found.allowed.append(found.allowed.empty() ? "" : ", ").append(route.method);
    if (route.method == "GET") found.allowed += ", HEAD";
    if (route.method != method) continue;
    found.route = &route;
    found.captured = std::move(*captured);
    break;
  }
  return found;
}

}  // namespace

std::vector<Route> all_routes() {
  std::vector<Route> all;
  for (const auto group :
       {app_routes(),        instance_routes(),     recipe_routes(),    recipe_push_routes(),
        module_routes(),     assignment_routes(),   apply_routes(),     variable_routes(),
        request_routes(),    pause_routes(),        rollout_routes(),   result_routes(),
        failure_routes(),    fleet_routes(),        event_routes(),     token_routes(),
        join_token_routes(), installation_routes(), authority_routes(), std::span<const Route>(kOpenApi)})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

std::size_t body_limit(Context& context, HttpRequest& request) {
  if (!request.path.starts_with(kPrefix)) return kUnwantedBody;
  const Caller* caller = find_caller(context, request);
  const Match found = find_route(request);
  if (!caller || !found.route || refuse_caller(*found.route, *caller)) return kUnwantedBody;
  const std::size_t most = most_body(*found.route);
  const std::size_t wanted = announced_body(request, most);
  if (wanted == 0 || wanted > most) return most;
  if (refuse_body_room(context, *caller, wanted)) return 0;
  request.held =
      std::make_shared<Share>(context.use, caller->token_id, TokenUse::Amounts{.body_bytes = wanted});
  return most;
}

Task<HttpResponse> refuse_large(Context& context, HttpRequest request) {
  const Match found = find_route(request);
  if (found.route && found.route->role == Role::anyone) co_return too_large(found.route);
  auto who = authenticate(context, request);
  if (auto* refused = std::get_if<HttpResponse>(&who)) co_return std::move(*refused);
  Call call;
  call.caller = std::get<Caller>(std::move(who));
  if (auto refused = refuse_pace(context, call.caller)) co_return std::move(*refused);
  if (!found.route) co_return too_large(found.route);
  call.actor = {call.caller.name, address_of(request.peer)};
  if (auto refused = refuse_caller(*found.route, call.caller)) {
    auto noting = note_refusal(context, call, request, "as " + std::string(name_of(call.caller.role)));
    co_await std::move(noting);
    co_return std::move(*refused);
  }
  // It was not its size, if no room was set aside for it.
  const std::size_t most = most_body(*found.route);
  const std::size_t wanted = announced_body(request, most);
  if (!request.held && wanted <= most)
    if (auto refused = refuse_body_room(context, call.caller, wanted)) co_return std::move(*refused);
  co_return too_large(found.route);
}

Task<HttpResponse> dispatch(Context& context, HttpRequest request) {
  Match matched = find_route(request);
  const Route* found = matched.route;
  const std::string& allowed = matched.allowed;
  Call call;
  std::shared_ptr<Share> share;  // lives until the client has the answer
  call.captured = std::move(matched.captured);
  // Who may not call anything learns nothing about what there is.
  if (!found || found->role != Role::anyone) {
    auto who = authenticate(context, request);
    if (auto* refused = std::get_if<HttpResponse>(&who)) co_return std::move(*refused);
    call.caller = std::get<Caller>(std::move(who));
    call.actor = {call.caller.name, address_of(request.peer)};
    if (auto refused = refuse_pace(context, call.caller)) {
      if (context.noted_limits.take(call.caller.token_id, steady_millis())) {
        auto noting = note_refusal(context, call, request, "too many calls");
        co_await std::move(noting);
      }
      co_return std::move(*refused);
    }
    share = std::make_shared<Share>(context.use, call.caller.token_id, TokenUse::Amounts{.calls = 1});
    auto noting = note_use(context, call.caller.token_id);
    co_await std::move(noting);
  }
  if (!found) {
    if (allowed.empty()) co_return problem(kNotFound, "there is nothing at " + request.path);
    HttpResponse response = problem(kMethodNotAllowed, request.path + " takes " + allowed);
    response.headers.push_back({"Allow", allowed});
    co_return response;
  }
  if (auto refused = refuse_caller(*found, call.caller)) {
    auto noting = note_refusal(context, call, request, "as " + std::string(name_of(call.caller.role)));
    co_await std::move(noting);
    co_return std::move(*refused);
  }
  if (auto refused = refuse_query(*found, request)) co_return std::move(*refused);
  if (auto refused = refuse_body(*found, request)) co_return std::move(*refused);
  call.http = std::move(request);
  auto handling = found->handler(context, call);
  HttpResponse response = co_await std::move(handling);
  // What handlers refuse for the caller's scope: it was not allowed, or is not there for the caller.
  const bool changes = found->method != "GET";
  if (response.status == kForbidden || (changes && response.status == kNotFound && call.caller.scope)) {
    auto noting = note_refusal(context, call, call.http, "answered " + std::to_string(response.status));
    co_await std::move(noting);
  }
  if (!changes) leave_out_known(response, call.http.header("If-None-Match"));
  // What was changed is told in any case; a read can be repeated.
  if (!changes && share)
    if (auto refused = refuse_answer_room(context, call.caller, response.body.size()))
      response = std::move(*refused);
  add_expiry(response, call.caller);
  if (share && !response.stream) {  // streams have limits of their own
    share->add_answer(response.body.size());
    response.held = std::move(share);
  }
  co_return response;
}

}  // namespace backend::api
