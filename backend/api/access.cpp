#include "backend/api/access.hpp"

#include <algorithm>
#include <limits>

#include "backend/api/changes.hpp"
#include "backend/api/reply.hpp"
#include "backend/domain/operator_token.hpp"
#include "backend/store/operator_tokens.hpp"
#include "base/text.hpp"

namespace backend::api {

namespace {

using std::chrono::duration_cast;

std::string_view bearer_token(const HttpRequest& request) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view given = request.header("Authorization");
  if (given.size() <= kScheme.size() || !base::equal_ignoring_case(given.substr(0, kScheme.size()), kScheme))
    return {};
  return base::trim(given.substr(kScheme.size()));
}

HttpResponse unauthorized(std::string_view detail) {
  HttpResponse response = problem(kUnauthorized, detail);
  response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

HttpResponse wait_for(domain::Millis wait, std::string_view detail) {
  HttpResponse response = problem(kTooManyRequests, detail);
  response.headers.push_back(
      {"Retry-After", std::to_string(std::max<domain::Millis>((wait + 999) / 1000, 1))});
  return response;
}

}  // namespace

domain::Millis steady_millis() {
  return duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Task<base::Result<void>> open_access(Context& context) {
  auto writing =
      context.store.write([proof = domain::proof_of_token(context.admin_token)](
                              store::Store& store) -> base::Result<std::vector<domain::OperatorToken>> {
        const domain::Millis now = domain::now_millis();
        if (auto set = store::set_admin_token(store, proof.id, proof.secret_hash, now); !set)
          return std::move(set).error();
        return store.live_tokens(now);
      });
  const auto tokens = co_await std::move(writing);
  if (!tokens) co_return tokens.error();
  for (const domain::OperatorToken& token : *tokens)
    context.tokens.put(token);
  if (!context.tokens.find(context.admin_token, domain::now_millis()))
    context.log.warning(
        "the token of admin.token was revoked: remove the file and start again, and a new one is made");
  co_return base::Result<void>();
}

std::variant<Caller, HttpResponse> authenticate(Context& context, const HttpRequest& request) {
  const std::string_view given = bearer_token(request);
  if (given.empty()) return unauthorized("send an access token as 'Authorization: Bearer TOKEN'");
  if (const TokenCache::Entry* entry = context.tokens.find(given, domain::now_millis())) {
    if (request.place) request.place->remember();
    return entry->caller;
  }
  const std::string address = address_of(request.peer);
  const domain::Millis now = steady_millis();
  if (context.wrong_tokens.take(address, now))
    return unauthorized("the access token is not known, or not good any more");
  return wait_for(context.wrong_tokens.wait(address, now),
                  "too many wrong access tokens came from your address");
}

OpenCall::OpenCall(Context& context, std::string token_id)
    : context_(context), token_id_(std::move(token_id)) {
  ++context_.calls_open[token_id_];
}

OpenCall::~OpenCall() {
  const auto found = context_.calls_open.find(token_id_);
  if (found != context_.calls_open.end() && --found->second == 0) context_.calls_open.erase(found);
}

std::optional<HttpResponse> refuse_pace(Context& context, const Caller& caller) {
  const auto open = context.calls_open.find(caller.token_id);
  if (open != context.calls_open.end() && open->second >= domain::kCallsAtOnce)
    return wait_for(1000, "'" + caller.name + "' has " + std::to_string(domain::kCallsAtOnce) +
                              " calls under way, which is as many as one token may have: wait for them");
  const domain::Millis now = steady_millis();
  if (context.calls.take(caller.token_id, now)) return std::nullopt;
  return wait_for(context.calls.wait(caller.token_id, now),
                  "'" + caller.name + "' calls too often: " +
                      std::to_string(static_cast<int>(domain::kCallsPerToken.per_second)) +
                      " calls a second are the most for one token");
}

void add_expiry(HttpResponse& response, const Caller& caller) {
  if (caller.expires == 0 || domain::now_millis() < caller.warn_from) return;
  response.headers.push_back({"Token-Expires", domain::instant_text(caller.expires)});
}

std::size_t body_limit(Context& context, const HttpRequest& request) {
  constexpr std::size_t kOfStrangers = 16 * 1024;  // enough for an answer that says what is wrong
  const std::string_view given = bearer_token(request);
  const bool is_known = !given.empty() && context.tokens.find(given, domain::now_millis()) != nullptr;
  return is_known ? std::numeric_limits<std::size_t>::max() : kOfStrangers;
}

Task<> note_use(Context& context, const std::string& token_id) {
  const domain::Millis now = domain::now_millis();
  if (!context.tokens.is_due(token_id, now)) co_return;
  auto writing = context.store.write(
      [token_id, now](store::Store& store) { return store.note_token_use(token_id, now); });
  const auto noted = co_await std::move(writing);
  if (!noted) context.log.warning("the use of a token was not noted: " + noted.error().message());
}

std::optional<HttpResponse> refuse_caller(const Route& route, const Caller& caller) {
  if (caller.role < route.role)
    return problem(kForbidden, "this needs the role '" + std::string(name_of(route.role)) + "', and '" +
                                   caller.name + "' is '" + std::string(name_of(caller.role)) + "'");
  if (route.reach == Reach::everything && caller.scope)
    return problem(kForbidden, "this reaches past the scope of '" + caller.name + "' (" +
                                   caller.scope->text() + "): it needs a token without a scope");
  return std::nullopt;
}

Task<> note_refusal(Context& context, const Call& call, const HttpRequest& request, std::string detail) {
  auto writing = context.store.write([actor = call.actor, what = request.method + " " + request.path,
                                      detail = std::move(detail)](store::Store& store) {
    return audit(store, actor, "call", what, detail, domain::kDenied);
  });
  const auto noted = co_await std::move(writing);
  if (!noted) context.log.warning("a refused call was not noted: " + noted.error().message());
}

std::string address_of(std::string_view peer) {
  return std::string(peer.substr(0, peer.rfind(':')));
}

}  // namespace backend::api
