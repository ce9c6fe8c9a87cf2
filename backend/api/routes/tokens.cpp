// Access tokens of operators.
#include "backend/api/callers/self_reports.hpp"
#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/names.hpp"
#include "backend/domain/access/operator_token.hpp"
#include "backend/domain/access/token_rules.hpp"
#include "backend/store/identity/operator_tokens.hpp"
#include "base/sha256.hpp"

namespace backend::api {

namespace tokens_resource {

namespace {

constexpr std::int64_t kShortestLife = 60;
constexpr std::int64_t kLongestLife = 10LL * 365 * 24 * 3600;

// Without the closing bracket.
void begin_token(base::JsonText& json, const domain::OperatorToken& token) {
  json.begin_object().member("id", token.id).member("name", token.name).member("role", token.role);
  json.key("scope");
  if (token.scope.empty())
    json.null();
  else
    json.value(token.scope);
  json.member("created_by", token.created_by);
  domain::add_instant(json, "created", token.created);
  domain::add_instant(json, "expires", token.expires);
  domain::add_instant(json, "last_used", token.last_used);
  domain::add_instant(json, "revoked", token.revoked);
}

Task<HttpResponse> list(Context& context, const Call& call) {
  const auto page = page_of(call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  auto reading = context.store.read(call.caller.token_id,
                                    [wanted = std::get<domain::PageRequest>(page)](store::Store& store) {
                                      return store.list_tokens(wanted);
                                    });
  const auto tokens = co_await std::move(reading);
  if (!tokens) co_return problem_of(tokens.error());
  co_return list_reply(*tokens, [](base::JsonText& json, const domain::OperatorToken& token) {
    begin_token(json, token);
    json.end_object();
  });
}

// A number of seconds, "never", or nothing: the usual.
void read_life(Fields& fields, domain::OperatorToken& token) {
  const base::Value* given = fields.value("ttl_s");
  if (given && given->is_text() && given->text() == "never") return;
  token.expires = domain::now_millis() + domain::kTokenLife;
  if (!given) return;
  const auto life = given->kind() == base::Value::Kind::integer ? given->as_integer() : std::nullopt;
  if (life && *life >= kShortestLife && *life <= kLongestLife)
    token.expires = domain::now_millis() + *life * 1000;
  else
    fields.complain("ttl_s", "must be a whole number of seconds from " + std::to_string(kShortestLife) +
                                 " to " + std::to_string(kLongestLife) + ", or \"never\"");
}

domain::OperatorToken read_token(Fields& fields) {
  domain::OperatorToken token;
  token.name = fields.text("name");
  if (!token.name.empty()) check_name(fields, "name", token.name);
  token.role = fields.one_of("role", "viewer operator admin", "viewer");
  token.scope = fields.text_or("scope", "");
  if (!token.scope.empty()) {
    // Half of what a selector may have: the other half is for what is asked within it.
    auto scope = domain::Selector::parse(token.scope);
    if (!scope)
      fields.complain("scope", scope.error().message());
    else if (token.scope.size() > domain::kLongestSelector / 2)
      fields.complain("scope", "may have " + std::to_string(domain::kLongestSelector / 2) + " bytes at most");
    else
      token.scope = scope->text();
  }
  read_life(fields, token);
  return token;
}

std::vector<std::string> scope_warnings(const domain::OperatorToken& token) {
  if (token.scope.empty()) return {};
  const auto scope = domain::Selector::parse(token.scope);
  if (!scope || !scope->uses_self_reported()) return {};
  return {
      "the scope asks for what machines say of themselves (self.KEY, fact.KEY): whoever has a machine can "
      "put it into the scope; it counts only in apps with trust_self_reported"};
}

Task<HttpResponse> create(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  domain::OperatorToken wanted = read_token(fields);
  if (auto refused = fields.problems()) co_return std::move(*refused);
  const domain::OperatorSecret secret = domain::make_operator_token();
  wanted.id = secret.id;
  wanted.secret_hash = base::sha256_hex(secret.secret);
  wanted.created_by = call.actor.name;
  auto writing = context.store.write([wanted = std::move(wanted), actor = call.actor](
                                         store::Store& store) -> base::Result<domain::OperatorToken> {
    auto added = store::add_token(store, wanted, domain::now_millis());
    if (!added) return added;
    auto noted = audit(
        store, actor, "token.create", wanted.name,
        "role=" + wanted.role + (wanted.scope.empty() ? "" : ", scope=" + wanted.scope) +
            (wanted.expires == 0 ? ", never expires" : ", until " + domain::instant_text(wanted.expires)));
    if (!noted) return std::move(noted).error();
    return added;
  });
  const auto token = co_await std::move(writing);
  if (!token) co_return problem_of(token.error());
  context.tokens.put(*token);
  base::JsonText json;
  begin_token(json, *token);
  json.member("token", domain::format_operator_token(secret));
  add_warnings(json, scope_warnings(*token));
  json.end_object();
  HttpResponse response = json_reply(kCreated, json);
  response.headers.push_back({"Location", std::string(kPrefix) + "/tokens/" + token->name});
  response.headers.push_back({"Cache-Control", "no-store"});
  co_return response;
}

Task<HttpResponse> revoke(Context& context, const Call& call) {
  auto writing = context.store.write([name = call.captured[0], actor = call.actor](
                                         store::Store& store) -> base::Result<domain::OperatorToken> {
    auto revoked = store::revoke_token(store, name, domain::now_millis());
    if (!revoked) return revoked;
    auto noted = audit(store, actor, "token.revoke", name);
    if (!noted) return std::move(noted).error();
    return revoked;
  });
  const auto token = co_await std::move(writing);
  if (!token) co_return problem_of(token.error());
  context.tokens.remove(token->id);
  context.events.wake_all();  // its streams end
  co_return no_content();
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .pattern = "/tokens",
     .summary = "Access tokens of operators, newest first",
     .role = Role::admin,
     .handler = list,
     .queries = "limit after",
     .reach = Reach::everything},
    {.method = "POST",
     .pattern = "/tokens",
     .summary = "Make an access token; the answer is the only time that it is shown",
     .role = Role::admin,
     .body = Body::json,
     .handler = create,
     .reach = Reach::everything},
    {.method = "DELETE",
     .pattern = "/tokens/{name}",
     .summary = "Revoke an access token",
     .role = Role::admin,
     .handler = revoke,
     .reach = Reach::everything},
};

}  // namespace

}  // namespace tokens_resource

std::span<const Route> token_routes() {
  return tokens_resource::kRoutes;
}

}  // namespace backend::api
