// Join tokens: with them machines get their certificates.
#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/names.hpp"
#include "backend/domain/access/enrolment_rules.hpp"
#include "backend/domain/access/name_rules.hpp"
#include "backend/store/identity/enrolment.hpp"
#include "pki/join_token.hpp"

namespace backend::api {

namespace join_tokens_resource {

namespace {

constexpr std::int64_t kDefaultLife = 15 * 60;
constexpr std::int64_t kLongestLife = 30LL * 24 * 3600;
constexpr std::int64_t kMostUses = 100'000;

// Without the closing bracket.
void begin_join_token(base::JsonText& json, const domain::JoinToken& token) {
  json.begin_object().member("id", token.id).member("app_id", token.app_id).key("instance_id");
  if (token.instance_id.empty())
    json.null();
  else
    json.value(token.instance_id);
  json.member("name", token.name_pattern).key("tags").begin_object();
  for (const auto& [name, value] : token.tags)
    json.member(name, value);
  json.end_object().member("uses", token.uses_total).member("uses_left", token.uses_left);
  json.member("approve", token.needs_approval).member("created_by", token.created_by);
  domain::add_instant(json, "created", token.created);
  domain::add_instant(json, "expires", token.expires);
  domain::add_instant(json, "revoked", token.revoked);
}

Task<HttpResponse> list(Context& context, const Call& call) {
  const auto page = page_of(call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  auto reading = context.store.read(call.caller.token_id,
                                    [wanted = std::get<domain::PageRequest>(page)](store::Store& store) {
                                      return store.list_join_tokens(wanted);
                                    });
  const auto tokens = co_await std::move(reading);
  if (!tokens) co_return problem_of(tokens.error());
  co_return list_reply(*tokens, [](base::JsonText& json, const domain::JoinToken& token) {
    begin_join_token(json, token);
    json.end_object();
  });
}

domain::JoinToken read_join_token(Fields& fields) {
  domain::JoinToken token;
  token.app_id = fields.text_or("app_id", "default");
  check_name(fields, "app_id", token.app_id);
  token.instance_id = fields.text_or("instance_id", "");
  if (!token.instance_id.empty()) check_name(fields, "instance_id", token.instance_id);
  token.name_pattern = fields.text_or("name", "");
  if (!token.name_pattern.empty()) {
    if (std::string wrong = domain::problem_of_name_pattern(token.name_pattern); !wrong.empty())
      fields.complain("name", std::move(wrong));
    if (!token.instance_id.empty())
      fields.complain("name", "does not go with instance_id, which is the name");
  }
  if (const base::Value* tags = fields.value("tags")) {
    if (!tags->is_object()) fields.complain("tags", "must be an object");
    for (auto& [name, value] : read_tags(fields, *tags)) {
      if (value)
        token.tags.emplace(name, *value);
      else
        fields.complain("tags." + name, "must be text");
    }
    if (std::string wrong = domain::problem_of_tags(token.tags); !wrong.empty())
      fields.complain("tags", std::move(wrong));
  }
  token.uses_total = token.uses_left = fields.integer_or("uses", 1, 1, kMostUses);
  token.needs_approval = fields.flag_or("approve", false);
  token.created = domain::now_millis();
  token.expires = token.created + fields.integer_or("ttl_s", kDefaultLife, 1, kLongestLife) * 1000;
  return token;
}

std::string describe(const domain::JoinToken& token) {
  std::string text = token.app_id + (token.instance_id.empty() ? "" : "/" + token.instance_id) + ", " +
                     std::to_string(token.uses_total) + (token.uses_total == 1 ? " use" : " uses") +
                     ", until " + domain::instant_text(token.expires);
  if (token.needs_approval) text += ", to be approved";
  if (!token.name_pattern.empty()) text += ", names " + token.name_pattern;
  for (const auto& [name, value] : token.tags)
    text += ", " + name + "=" + value;
  return text;
}

Task<HttpResponse> create(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body.empty() ? std::string_view("{}") : call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  domain::JoinToken wanted = read_join_token(fields);
  if (auto refused = fields.problems()) co_return std::move(*refused);
  const fleet::SharedAuthorities& authorities = context.fleet.authorities();
  if (!authorities)
    co_return problem(
        kConflict,
        "this backend runs without TLS (--plain) and issues no certificates: agents come with their "
        "instance_token, and need no join token");
  // While the authority is being changed, this is the one that the server shows.
  const pki::JoinToken made =
      pki::make_join_token(authorities->for_server(std::chrono::system_clock::now()).public_hash());
  wanted.ca_hash = made.ca_hash;
  wanted.id = made.id;
  wanted.secret_hash = pki::hash_of_secret(made.secret);
  wanted.created_by = call.actor.name;
  auto writing = context.store.write([wanted = std::move(wanted), actor = call.actor](
                                         store::Store& store) -> base::Result<domain::JoinToken> {
    auto added = store::add_join_token(store, wanted);
    if (!added) return added;
    auto noted = audit(store, actor, "join_token.create", wanted.id, describe(wanted));
    if (!noted) return std::move(noted).error();
    return added;
  });
  const auto token = co_await std::move(writing);
  if (!token) co_return problem_of(token.error());
  base::JsonText json;
  begin_join_token(json, *token);
  json.member("token", pki::format_join_token(made)).end_object();
  HttpResponse response = json_reply(kCreated, json);
  response.headers.push_back({"Location", std::string(kPrefix) + "/join-tokens/" + token->id});
  response.headers.push_back({"Cache-Control", "no-store"});
  co_return response;
}

Task<HttpResponse> revoke(Context& context, const Call& call) {
  auto writing = context.store.write(
      [id = call.captured[0], actor = call.actor](store::Store& store) -> base::Result<void> {
        auto revoked = store.revoke_join_token(id, domain::now_millis());
        if (!revoked) return std::move(revoked).error();
        return audit(store, actor, "join_token.revoke", id, describe(*revoked));
      });
  const auto revoked = co_await std::move(writing);
  if (!revoked) co_return problem_of(revoked.error());
  co_return no_content();
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .pattern = "/join-tokens",
     .summary = "Join tokens, newest first",
     .role = Role::admin,
     .handler = list,
     .queries = "limit after",
     .reach = Reach::everything},
    {.method = "POST",
     .pattern = "/join-tokens",
     .summary = "Make a join token; the answer is the only time that it is shown",
     .role = Role::admin,
     .body = Body::json,
     .handler = create,
     .reach = Reach::everything},
    {.method = "DELETE",
     .pattern = "/join-tokens/{id}",
     .summary = "Revoke a join token",
     .role = Role::admin,
     .handler = revoke,
     .reach = Reach::everything},
};

}  // namespace

}  // namespace join_tokens_resource

std::span<const Route> join_token_routes() {
  return join_tokens_resource::kRoutes;
}

}  // namespace backend::api
