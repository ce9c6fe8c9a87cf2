#include "backend/api/access.hpp"

#include <algorithm>

#include "backend/api/changes.hpp"
#include "backend/api/reply.hpp"
#include "backend/domain/access/operator_token.hpp"
#include "backend/store/identity/operator_tokens.hpp"
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

const Caller* find_caller(Context& context, const HttpRequest& request) {
  const std::string_view given = bearer_token(request);
  const TokenCache::Entry* entry = given.empty() ? nullptr : context.tokens.find(given, domain::now_millis());
  return entry ? &entry->caller : nullptr;
}

std::optional<HttpResponse> refuse_pace(Context& context, const Caller& caller) {
  if (context.use->of(caller.token_id).calls >= domain::kCallsAtOnce)
    return wait_for(1000, "'" + caller.name + "' has " + std::to_string(domain::kCallsAtOnce) +
                              " calls under way, which is as many as one token may have: wait for them");
  // A call that has come this far may have an answer of any size.
  if (auto refused = refuse_answer_room(context, caller, 1)) return refused;
  const domain::Millis now = steady_millis();
  if (context.calls.take(caller.token_id, now)) return std::nullopt;
  return wait_for(context.calls.wait(caller.token_id, now),
                  "'" + caller.name + "' calls too often: " +
                      std::to_string(static_cast<int>(domain::kCallsPerToken.per_second)) +
                      " calls a second are the most for one token");
}

std::optional<HttpResponse> refuse_body_room(Context& context, const Caller& caller, std::size_t more) {
  if (context.use->of(caller.token_id).body_bytes + more <= domain::kBodyBytesAtOnce) return std::nullopt;
  return wait_for(1000, "the requests of '" + caller.name + "' that are under way have bodies of " +
                            std::to_string(domain::kBodyBytesAtOnce) +
                            " bytes, which is as much as one token may send at once: wait for them");
}

std::optional<HttpResponse> refuse_answer_room(Context& context, const Caller& caller, std::size_t more) {
  const std::size_t waiting = context.use->of(caller.token_id).answer_bytes;
  // One alone is never too large: it would not get smaller by waiting.
  if (waiting == 0 || waiting + more <= domain::kAnswerBytesAtOnce) return std::nullopt;
  return wait_for(1000, "'" + caller.name + "' has not taken answers of " + std::to_string(waiting) +
                            " bytes; " + std::to_string(domain::kAnswerBytesAtOnce) +
                            " are the most that wait for one token: read them, or ask for less at once");
}

void add_expiry(HttpResponse& response, const Caller& caller) {
  if (caller.expires == 0 || domain::now_millis() < caller.warn_from) return;
  response.headers.push_back({"Token-Expires", domain::instant_text(caller.expires)});
}

Task<> note_use(Context& context, const std::string& token_id) {
  const domain::Millis now = domain::now_millis();
  if (!context.tokens.is_due(token_id, now)) co_return;
  auto writing = context.store.write(
      [token_id, now](store::Store& store) { return store.note_token_use(token_id, now); });
  const auto noted = co_await std::move(writing);
  if (!noted) context.log.warning("the use of a token was not noted: " + noted.error().message());
}

std::string why_refused(const Route& route, const Caller& caller) {
  if (caller.role < route.role)
    return "this needs the role '" + std::string(name_of(route.role)) + "', and '" + caller.name + "' is '" +
           std::string(name_of(caller.role)) + "'";
  if (route.reach == Reach::everything && caller.scope)
    return "this reaches past the scope of '" + caller.name + "' (" + caller.scope->text() +
           "): it needs a token without a scope";
  return {};
}

std::optional<HttpResponse> refuse_caller(const Route& route, const Caller& caller) {
  const std::string why = why_refused(route, caller);
  if (why.empty()) return std::nullopt;
  return problem(kForbidden, why);
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
