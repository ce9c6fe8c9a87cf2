// The authorities that vouch for this backend and its agents, and how one follows the other.
#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/domain/access/authority_rules.hpp"

namespace backend::api {

namespace authorities_resource {

namespace {

using fleet::AuthoritySet;
using fleet::SharedAuthorities;

HttpResponse without_tls() {
  return problem(kConflict, "this backend runs without TLS (--plain) and has no authority");
}

// What each authority is for, in a word.
std::string_view role_of(const AuthoritySet& all, const pki::Authority& authority) {
  if (!all.is_changing()) return "current";
  return authority.issuer_hash() == all.oldest().issuer_hash() ? "old" : "new";
}

// Without the closing bracket.
void begin_authority(base::JsonText& json, const AuthoritySet& all, const pki::Authority& authority) {
  json.begin_object().member("id", authority.issuer_hash()).member("ca_hash", authority.public_hash());
  json.member("subject", authority.subject()).member("role", role_of(all, authority));
  domain::add_instant(json, "expires", domain::millis_of(authority.not_after()));
}

// For everybody who keeps the certificates: nothing of it is secret, and nothing is said of machines.
Task<HttpResponse> list(Context& context, const Call&) {
  const SharedAuthorities all = context.fleet.authorities();
  if (!all) co_return without_tls();
  base::JsonText json;
  json.begin_object().key("items").begin_list();
  for (const pki::Authority& each : all->active) {
    begin_authority(json, *all, each);
    json.end_object();
  }
  json.end_list().member("fingerprint", all->fingerprint()).key("certificates").begin_list();
  for (const std::string& root : all->roots())
    json.value(root);
  co_return json_reply(kOk, json.end_list().end_object());
}

// What the store knows about each.
struct Counted {
  std::vector<std::size_t> machines, join_tokens;  // by the authority's place
  domain::RelyingMachines relying;                 // on the old one; nobody while there is but one
};

base::Result<Counted> count(store::Store& store, const AuthoritySet& all) {
  const domain::Millis now = domain::now_millis();
  Counted counted;
  for (const pki::Authority& each : all.active) {
    auto machines = store.count_machines_of(each.issuer_hash(), now);
    if (!machines) return std::move(machines).error();
    auto tokens = store.count_join_tokens_of(each.public_hash(), now);
    if (!tokens) return std::move(tokens).error();
    counted.machines.push_back(*machines);
    counted.join_tokens.push_back(*tokens);
  }
  if (!all.is_changing()) return counted;
  auto relying = store.machines_relying_on(all.oldest().issuer_hash(), now, domain::kMostRelyingShown);
  if (!relying) return std::move(relying).error();
  counted.relying = std::move(*relying);
  return counted;
}

void add_status(base::JsonText& json, const AuthoritySet& all, const Counted& counted) {
  json.begin_object().member("changing", all.is_changing()).key("items").begin_list();
  for (std::size_t i = 0; i < all.active.size(); ++i) {
    begin_authority(json, all, all.active[i]);
    json.member("machines", counted.machines[i]).member("join_tokens", counted.join_tokens[i]).end_object();
  }
  json.end_list().member("relying_count", counted.relying.count).key("relying").begin_list();
  for (const domain::RelyingMachine& each : counted.relying.some) {
    json.begin_object().member("app_id", each.app_id).member("instance_id", each.instance_id);
    json.member("online", each.online).member("agent_version", each.agent_version);
    domain::add_instant(json, "last_seen", each.last_seen);
    json.end_object();
  }
  json.end_list().end_object();
}

Task<HttpResponse> show_status(Context& context, SharedAuthorities all) {
  auto reading = context.store.read("", [all](store::Store& store) { return count(store, *all); });
  const auto counted = co_await std::move(reading);
  if (!counted) co_return problem_of(counted.error());
  base::JsonText json;
  add_status(json, *all, *counted);
  co_return json_reply(kOk, json);
}

Task<HttpResponse> status(Context& context, const Call&) {
  const SharedAuthorities all = context.fleet.authorities();
  if (!all) co_return without_tls();
  auto showing = show_status(context, all);
  co_return co_await std::move(showing);
}

// What was decided and is on disk is used: by the server, then by the fleet.
Task<HttpResponse> use(Context& context, SharedAuthorities all) {
  auto used = context.authorities->use(*all);
  if (!used) {
    context.log.error("the authorities have changed, and TLS does not take them: " + used.error().message());
    co_return problem(kInternal,
                      "the change is stored, and takes effect when the backend is started again: " +
                          used.error().message());
  }
  context.fleet.use_authorities(all);
  auto showing = show_status(context, all);
  co_return co_await std::move(showing);
}

Task<HttpResponse> rotate(Context& context, const Call& call) {
  if (!context.authorities) co_return without_tls();
  auto writing = context.store.write([keeper = context.authorities, actor = call.actor](
                                         store::Store& store) -> base::Result<SharedAuthorities> {
    auto all = keeper->begin_change(std::chrono::system_clock::now());
    if (!all) return all;
    const pki::Authority& next = (*all)->newest();
    auto noted = audit(store, actor, "authority.rotate", next.issuer_hash(),
                       next.subject() + ", root " + next.public_hash());
    if (!noted) return std::move(noted).error();
    return all;
  });
  auto all = co_await std::move(writing);
  if (!all) co_return problem_of(all.error());
  context.log.info("the authority is being changed to " + (*all)->newest().subject() + ", by " +
                   call.actor.name);
  auto using_it = use(context, std::move(*all));
  co_return co_await std::move(using_it);
}

Task<HttpResponse> retire(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body.empty() ? std::string_view("{}") : call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  const bool is_forced = fields.flag_or("force", false);
  if (auto refused = fields.problems()) co_return std::move(*refused);
  const SharedAuthorities before = context.fleet.authorities();
  if (!before || !context.authorities) co_return without_tls();
  auto writing = context.store.write([keeper = context.authorities, actor = call.actor, before,
                                      is_forced](store::Store& store) -> base::Result<SharedAuthorities> {
    const auto now = std::chrono::system_clock::now();
    const std::string issuer = before->oldest().issuer_hash();
    auto relying = store.machines_relying_on(issuer, domain::millis_of(now), domain::kMostRelyingShown);
    if (!relying) return std::move(relying).error();
    if (before->is_changing())
      if (std::string why = domain::refuse_retirement(*relying, is_forced); !why.empty())
        return base::Error(base::ErrorCode::exists, std::move(why));
    const bool leaves_some = relying->count > 0;
    SharedAuthorities after;
    // The row first: it is undone when the authority stays.
    auto done = store.transact([&]() -> base::Result<void> {
      auto noted = audit(store, actor, "authority.retire", issuer,
                         before->oldest().subject() +
                             (leaves_some ? ", by force; relied on by " + domain::names_of(*relying) : ""));
      if (!noted) return noted;
      auto all = keeper->retire(issuer, now);
      if (!all) return std::move(all).error();
      after = std::move(*all);
      return {};
    });
    if (!done) return std::move(done).error();
    return after;
  });
  auto all = co_await std::move(writing);
  if (!all) co_return problem_of(all.error());
  context.log.info("the authority " + before->oldest().subject() + " is retired, by " + call.actor.name);
  auto using_it = use(context, std::move(*all));
  co_return co_await std::move(using_it);
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .pattern = "/authorities",
     .summary = "The authorities that vouch for this backend, with their certificates",
     .role = Role::viewer,
     .handler = list},
    {.method = "GET",
     .pattern = "/authorities/status",
     .summary = "Who relies on which authority",
     .role = Role::admin,
     .handler = status,
     .reach = Reach::everything},
    {.method = "POST",
     .pattern = "/authorities/rotate",
     .summary = "Begin to change the authority: the next one is announced to the agents",
     .role = Role::admin,
     .handler = rotate,
     .reach = Reach::everything},
    {.method = "POST",
     .pattern = "/authorities/retire",
     .summary = "Retire the old authority, if nobody relies on it, or by force",
     .role = Role::admin,
     .body = Body::json,
     .handler = retire,
     .reach = Reach::everything},
};

}  // namespace

}  // namespace authorities_resource

std::span<const Route> authority_routes() {
  return authorities_resource::kRoutes;
}

}  // namespace backend::api
