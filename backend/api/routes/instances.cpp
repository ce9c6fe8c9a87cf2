#include "backend/store/inventory/instances.hpp"

#include <algorithm>

#include "backend/api/callers/visibility.hpp"
#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/names.hpp"
#include "backend/api/routes/failures.hpp"
#include "backend/domain/access/name_rules.hpp"
#include "backend/domain/access/pauses.hpp"
#include "backend/domain/json_text.hpp"
#include "backend/store/identity/certificates.hpp"
#include "base/sha256.hpp"

namespace backend::api {

namespace instances_resource {

namespace {

void add_tags(base::JsonText& json, std::string_view name, const domain::Tags& tags) {
  json.key(name).begin_object();
  for (const auto& [key, value] : tags)
    json.member(key, value);
  json.end_object();
}

void add_last_round(base::JsonText& json, const std::optional<domain::LastRound>& round) {
  json.key("last_round");
  if (!round) {
    json.null();
    return;
  }
  json.begin_object().member("round", round->round).member("recipe_version", round->recipe_version);
  json.key("counts").json(round->counts);
  json.member("not_reached", round->not_reached).member("duration_ms", round->duration_ms);
  domain::add_instant(json, "at", round->at);
  json.end_object();
}

// Without the closing bracket.
void begin_instance(base::JsonText& json, const domain::Instance& instance, bool online) {
  json.begin_object().member("instance_id", instance.instance_id).member("app_id", instance.app_id);
  json.member("agent_uid", instance.agent_uid).member("agent_version", instance.agent_version);
  json.member("protocol", instance.protocol).member("online", online);
  domain::add_instant(json, "first_seen", instance.first_seen);
  domain::add_instant(json, "connected_at", instance.connected_at);
  domain::add_instant(json, "last_seen", instance.last_seen);
  add_tags(json, "tags", instance.tags());
  add_tags(json, "tag_scopes", instance.tag_scopes);
  add_tags(json, "self_tags", instance.agent_tags);
  if (!instance.wished_name.empty()) json.member("wished_name", instance.wished_name);
  json.member("os", instance.os).member("arch", instance.arch);
  json.member("recipe_version", instance.recipe_version);
  json.member("reported_version", instance.reported_version).member("status", instance.status);
  json.key("errors").begin_list();
  for (const std::string& error : instance.errors)
    json.value(error);
  json.end_list();
  domain::add_instant(json, "revoked", instance.revoked);
  domain::add_instant(json, "pending", instance.pending);
  if (instance.pending != 0) json.member("token_prefix", instance.token_prefix);
  domain::add_instant(json, "excluded", instance.excluded);
  if (instance.excluded != 0) json.member("excluded_reason", instance.excluded_why);
  domain::add_pause(json, instance.pause, domain::now_millis());
  json.key("holds").json(domain::to_json(domain::holds_now(instance, online, domain::now_millis())));
  add_last_round(json, instance.last_round);
}

void add_waits(base::JsonText& json, const std::vector<domain::WaitStatus>& waits) {
  json.key("waits").begin_list();
  for (const domain::WaitStatus& wait : waits) {
    json.begin_object().member("state_id", wait.state_id).key("waiting_for").begin_list();
    for (const protocol::StateRef& open : wait.open)
      json.begin_object()
          .member("instance_id", open.instance_id)
          .member("state_id", open.state_id)
          .end_object();
    json.end_list();
    domain::add_instant(json, "satisfied_at", wait.satisfied_at.value_or(0));
    json.end_object();
  }
  json.end_list();
}

// null for a machine that was never enrolled.
void add_identity(base::JsonText& json, const std::optional<domain::Enrolment>& enrolment) {
  json.key("identity");
  if (!enrolment) {
    json.null();
    return;
  }
  json.begin_object().member("uid", enrolment->uid).member("current", enrolment->current);
  domain::add_instant(json, "enrolled_at", enrolment->enrolled);
  domain::add_instant(json, "revoked_at", enrolment->revoked);
  json.optional("reason", enrolment->why).key("certificates").begin_list();
  for (const domain::CertificateRow& certificate : enrolment->certificates) {
    json.begin_object().member("serial", certificate.serial).optional("issuer", certificate.issuer);
    domain::add_instant(json, "issued_at", certificate.issued);
    domain::add_instant(json, "expires_at", certificate.not_after);
    domain::add_instant(json, "first_used_at", certificate.first_used);
    domain::add_instant(json, "revoked_at", certificate.revoked);
    json.optional("reason", certificate.why).end_object();
  }
  json.end_list().end_object();
}

// All that is shown of one.
struct Shown {
  domain::Instance instance;
  std::optional<domain::Enrolment> enrolment;
  std::optional<domain::FailedState> failed;
};

base::Result<Shown> read_shown(store::Store& store, base::Result<domain::Instance> instance) {
  if (!instance) return std::move(instance).error();
  auto enrolment = store::show_enrolment(store, instance->app_id, instance->instance_id);
  if (!enrolment) return std::move(enrolment).error();
  auto failed = find_failure(store, *instance);
  if (!failed) return std::move(failed).error();
  return Shown{std::move(*instance), std::move(*enrolment), std::move(*failed)};
}

HttpResponse instance_reply(Context& context, const Shown& shown) {
  const domain::Instance& instance = shown.instance;
  base::JsonText json;
  begin_instance(json, instance, context.fleet.is_connected(instance.key));
  json.member("boot_id", instance.boot_id).member("recipe_digest", instance.recipe_digest);
  json.member("facts_hash", instance.facts_hash).key("facts").json(instance.facts);
  add_failure(json, shown.failed);
  add_waits(json, context.fleet.waits().waits_of(instance.key));
  add_identity(json, shown.enrolment);
  HttpResponse response = json_reply(kOk, json.end_object());
  response.headers.push_back({"ETag", etag(instance.edit, response.body)});
  return response;
}

Task<HttpResponse> list(Context& context, const Call& call) {
  const auto page = page_of(call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  domain::InstanceFilter filter{.app_id = std::string(call.http.parameter("app"))};
  const std::string_view online = call.http.parameter("online");
  if (!online.empty()) {
    filter.online = base::Value::string(online).as_bool();
    if (!filter.online) co_return problem(kBadRequest, "online must be true or false");
  }
  const std::string_view pending = call.http.parameter("pending");
  if (!pending.empty() && pending != "true") co_return problem(kBadRequest, "pending must be true");
  filter.only_pending = !pending.empty();
  const std::string_view text = call.http.parameter("selector");
  auto selector = domain::Selector::parse(text.empty() ? "*" : text);
  if (selector) selector = narrowed(call.caller.scope, *selector);
  if (!selector) co_return problem(kBadRequest, "selector " + selector.error().message());

  auto reading =
      context.store.read(call.caller.token_id, [filter, wanted = std::get<domain::PageRequest>(page),
                                                chosen = std::move(*selector)](store::Store& store) {
        return store.list_instances(filter, &chosen, wanted, chosen.uses_facts());
      });
  const auto instances = co_await std::move(reading);
  if (!instances) co_return problem_of(instances.error());
  co_return list_reply(*instances, [&](base::JsonText& json, const domain::Instance& instance) {
    begin_instance(json, instance, context.fleet.is_connected(instance.key));
    json.end_object();
  });
}

Task<HttpResponse> show(Context& context, const Call& call) {
  auto reading = context.store.read(call.caller.token_id, [app = call.captured[0], id = call.captured[1],
                                                           scope = call.caller.scope](store::Store& store) {
    return read_shown(store, find_covered(store, scope, app, id));
  });
  const auto instance = co_await std::move(reading);
  if (!instance) co_return problem_of(instance.error());
  co_return instance_reply(context, *instance);
}

struct Patched {
  Shown shown;
  fleet::Delivery delivery;
};

Task<HttpResponse> patch(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  const auto expected = expected_edit(call);
  if (const auto* refused = std::get_if<HttpResponse>(&expected)) co_return *refused;
  const auto edit = std::get<std::optional<domain::Edit>>(expected);
  Fields fields(std::get<JsonBody>(body).root());
  const base::Value* given = fields.object("tags");
  const TagPatch tags = given ? read_tags(fields, *given) : TagPatch();
  if (auto refused = fields.problems()) co_return std::move(*refused);

  auto writing = context.store.write([app = call.captured[0], id = call.captured[1], tags, edit,
                                      actor = call.actor, scope = call.caller.scope,
                                      detail = call.http.body](store::Store& store) -> base::Result<Patched> {
    auto found = find_covered(store, scope, app, id);
    if (!found) return std::move(found).error();
    auto patched = store::patch_tags(store, app, id, tags, edit, scope);
    if (!patched) return std::move(patched).error();
    if (patched->edit == found->edit) {  // it is so already: nothing to place, and nothing to note
      auto same = read_shown(store, std::move(patched));
      if (!same) return std::move(same).error();
      return Patched{std::move(*same), {}};
    }
    const bool adds = std::ranges::any_of(tags, [](const auto& each) { return each.second.has_value(); });
    if (std::string wrong = domain::problem_of_tags(patched->operator_tags); adds && !wrong.empty())
      return base::Error(base::ErrorCode::invalid, std::move(wrong));
    auto placed = fleet::place_instance(store, patched->key);
    if (!placed) return std::move(placed).error();
    auto delivery = fleet::prepare_delivery(store, std::move(*placed), {patched->key});
    if (!delivery) return std::move(delivery).error();
    auto noted = audit(store, actor, "instance.tag", app + "/" + id, detail);
    if (!noted) return std::move(noted).error();
    auto after = read_shown(store, store.find_instance(patched->key));
    if (!after) return std::move(after).error();
    if (!covers(scope, after->instance))
      return base::Error(base::ErrorCode::permission,
                         "these tags would take the machine out of the scope " + scope->text());
    return Patched{std::move(*after), std::move(*delivery)};
  });
  const auto patched = co_await std::move(writing);
  if (!patched) co_return problem_of(patched.error(), edit ? kPreconditionFailed : kConflict);
  context.fleet.deliver(patched->delivery);
  co_return instance_reply(context, patched->shown);
}

Task<HttpResponse> forget(Context& context, const Call& call) {
  auto writing = context.store.write(
      [app = call.captured[0], id = call.captured[1], actor = call.actor,
       scope = call.caller.scope](store::Store& store) -> base::Result<domain::InstanceKey> {
        auto instance = find_covered(store, scope, app, id);
        if (!instance) return std::move(instance).error();
        auto forgotten = store::forget_instance(store, app, id, domain::now_millis());
        if (!forgotten) return std::move(forgotten).error();
        auto noted = audit(store, actor, "instance.forget", app + "/" + id);
        if (!noted) return std::move(noted).error();
        return instance->key;
      });
  const auto key = co_await std::move(writing);
  if (!key) co_return problem_of(key.error());
  context.fleet.forget(*key);
  co_return no_content();
}

// {"reason": "…"}, or nothing.
std::variant<std::string, HttpResponse> read_reason(const Call& call) {
  constexpr std::size_t kLongestReason = 256;
  const auto body = JsonBody::read(call.http.body.empty() ? std::string_view("{}") : call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  std::string reason = fields.text_or("reason", "");
  if (reason.size() > kLongestReason || !protocol::problem_of_id(reason).empty())
    fields.complain("reason", "must be one line of 256 bytes at most");
  if (auto refused = fields.problems()) return std::move(*refused);
  return reason;
}

Task<HttpResponse> set_excluded(Context& context, const Call& call, bool is_excluded) {
  const auto given = read_reason(call);
  if (const auto* refused = std::get_if<HttpResponse>(&given)) co_return *refused;
  auto writing = context.store.write(
      [app = call.captured[0], id = call.captured[1], is_excluded, reason = std::get<std::string>(given),
       actor = call.actor, scope = call.caller.scope](store::Store& store) -> base::Result<Patched> {
        auto found = find_covered(store, scope, app, id);
        if (!found) return std::move(found).error();
        if (is_excluded ? found->excluded != 0 && found->excluded_why == reason : found->excluded == 0) {
          auto same = read_shown(store, std::move(found));
          if (!same) return std::move(same).error();
          return Patched{std::move(*same), {}};
        }
        auto set = store.set_excluded(found->key, is_excluded ? domain::now_millis() : 0,
                                      is_excluded ? reason : std::string());
        if (!set) return std::move(set).error();
        auto delivery = fleet::prepare_delivery(store, {}, {found->key});
        if (!delivery) return std::move(delivery).error();
        auto noted = audit(store, actor, is_excluded ? "instance.exclude" : "instance.include",
                           app + "/" + id, reason);
        if (!noted) return std::move(noted).error();
        auto after = read_shown(store, store.find_instance(found->key));
        if (!after) return std::move(after).error();
        return Patched{std::move(*after), std::move(*delivery)};
      });
  const auto changed = co_await std::move(writing);
  if (!changed) co_return problem_of(changed.error());
  context.fleet.deliver(changed->delivery);
  context.rollouts.wake();
  co_return instance_reply(context, changed->shown);
}

// ---- machines that wait, or are waited for

Task<HttpResponse> approve(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body.empty() ? std::string_view("{}") : call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  const std::string prefix = fields.text_or("token_hash", "");
  if (auto refused = fields.problems()) co_return std::move(*refused);
  auto writing =
      context.store.write([app = call.captured[0], id = call.captured[1], prefix, actor = call.actor,
                           scope = call.caller.scope](store::Store& store) -> base::Result<Patched> {
        auto found = find_covered(store, scope, app, id);
        if (!found) return std::move(found).error();
        if (auto fine = check_nothing_new(store, scope, *found); !fine) return std::move(fine).error();
        auto approved = store::approve_instance(store, found->key, prefix);
        if (!approved) return std::move(approved).error();
        auto placed = fleet::place_instance(store, found->key);
        if (!placed) return std::move(placed).error();
        auto delivery = fleet::prepare_delivery(store, std::move(*placed), {found->key});
        if (!delivery) return std::move(delivery).error();
        auto noted = audit(store, actor, "instance.approve", app + "/" + id, approved->token_prefix);
        if (!noted) return std::move(noted).error();
        auto after = read_shown(store, store.find_instance(found->key));
        if (!after) return std::move(after).error();
        return Patched{std::move(*after), std::move(*delivery)};
      });
  const auto approved = co_await std::move(writing);
  if (!approved) co_return problem_of(approved.error());
  context.fleet.deliver(approved->delivery);
  co_return instance_reply(context, approved->shown);
}

Task<HttpResponse> expect(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  const std::string hash = fields.text("token_hash");
  if (!base::is_sha256_hex(hash))
    fields.complain("token_hash",
                    "must be the SHA-256 of the machine's instance_token, 64 hexadecimal digits");
  check_name(fields, "instance_id", call.captured[1]);
  if (auto refused = fields.problems()) co_return std::move(*refused);
  auto writing = context.store.write([app = call.captured[0], id = call.captured[1], hash,
                                      actor = call.actor](store::Store& store) -> base::Result<Shown> {
    auto expected = store::expect_instance(store, app, id, hash, domain::now_millis());
    auto shown = read_shown(store, std::move(expected));
    if (!shown) return shown;
    auto noted = audit(store, actor, "instance.expect", app + "/" + id, hash.substr(0, 16));
    if (!noted) return std::move(noted).error();
    return shown;
  });
  const auto shown = co_await std::move(writing);
  if (!shown) co_return problem_of(shown.error());
  co_return instance_reply(context, *shown);
}

Task<HttpResponse> exclude(Context& context, const Call& call) {
  return set_excluded(context, call, true);
}
Task<HttpResponse> include(Context& context, const Call& call) {
  return set_excluded(context, call, false);
}

Task<HttpResponse> revoke(Context& context, const Call& call) {
  const auto given = read_reason(call);
  if (const auto* refused = std::get_if<HttpResponse>(&given)) co_return *refused;
  const auto& reason = std::get<std::string>(given);
  auto writing =
      context.store.write([app = call.captured[0], id = call.captured[1], reason, actor = call.actor,
                           scope = call.caller.scope](store::Store& store) -> base::Result<Shown> {
        if (auto found = find_covered(store, scope, app, id); !found) return std::move(found).error();
        auto revoked = read_shown(store, store::revoke(store, app, id, reason, domain::now_millis()));
        if (!revoked) return revoked;
        auto noted = audit(store, actor, "instance.revoke", app + "/" + id, reason);
        if (!noted) return std::move(noted).error();
        return revoked;
      });
  const auto revoked = co_await std::move(writing);
  if (!revoked) co_return problem_of(revoked.error());
  context.fleet.revoke(revoked->instance.key, "this machine was revoked");
  context.fleet.forget(revoked->instance.key);  // nobody waits for it any more
  co_return instance_reply(context, *revoked);
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .pattern = "/instances",
     .summary = "Instances, by app and id",
     .handler = list,
     .queries = "app selector pending online limit after"},
    {.method = "GET",
     .pattern = "/instances/{app}/{id}",
     .summary = "One instance with its facts and waits",
     .handler = show},
    {.method = "PATCH",
     .pattern = "/instances/{app}/{id}",
     .summary = "Set or remove tags",
     .role = Role::operator_,
     .body = Body::json,
     .handler = patch},
    {.method = "DELETE",
     .pattern = "/instances/{app}/{id}",
     .summary = "Forget an instance that is not connected",
     .role = Role::admin,
     .handler = forget},
    {.method = "POST",
     .pattern = "/instances/{app}/{id}/revoke",
     .summary = "End an instance's certificates and its connection",
     .role = Role::operator_,
     .body = Body::json,
     .handler = revoke},
    {.method = "POST",
     .pattern = "/instances/{app}/{id}/approve",
     .summary = "Let in an instance that waits",
     .role = Role::operator_,
     .body = Body::json,
     .handler = approve},
    {.method = "POST",
     .pattern = "/instances/{app}/{id}/expect",
     .summary = "Let in an instance that will come with this instance_token",
     .role = Role::admin,
     .body = Body::json,
     .handler = expect,
     .reach = Reach::everything},
    {.method = "POST",
     .pattern = "/instances/{app}/{id}/exclude",
     .summary = "Go on without an instance: waits and rollouts are not held up by it",
     .role = Role::operator_,
     .body = Body::json,
     .handler = exclude},
    {.method = "POST",
     .pattern = "/instances/{app}/{id}/include",
     .summary = "Count on an instance again",
     .role = Role::operator_,
     .body = Body::json,
     .handler = include},
};

}  // namespace

}  // namespace instances_resource

std::span<const Route> instance_routes() {
  return instances_resource::kRoutes;
}

}  // namespace backend::api
