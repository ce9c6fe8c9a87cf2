#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/names.hpp"

namespace backend::api {

namespace {

void add_tags(base::JsonText& json, const Tags& tags) {
  json.key("tags").begin_object();
  for (const auto& [name, value] : tags)
    json.member(name, value);
  json.end_object();
}

void add_last_round(base::JsonText& json, const std::optional<LastRound>& round) {
  json.key("last_round");
  if (!round) {
    json.null();
    return;
  }
  json.begin_object().member("round", round->round).member("recipe_version", round->recipe_version);
  json.key("counts").json(round->counts);
  json.member("not_reached", round->not_reached).member("duration_ms", round->duration_ms);
  add_instant(json, "at", round->at);
  json.end_object();
}

// Without the closing bracket.
void begin_instance(base::JsonText& json, const Instance& instance, bool online) {
  json.begin_object().member("instance_id", instance.instance_id).member("app_id", instance.app_id);
  json.member("agent_uid", instance.agent_uid).member("agent_version", instance.agent_version);
  json.member("protocol", instance.protocol).member("online", online);
  add_instant(json, "first_seen", instance.first_seen);
  add_instant(json, "connected_at", instance.connected_at);
  add_instant(json, "last_seen", instance.last_seen);
  add_tags(json, instance.tags());
  json.member("os", instance.os).member("arch", instance.arch);
  json.member("recipe_version", instance.recipe_version);
  json.member("reported_version", instance.reported_version).member("status", instance.status);
  json.key("errors").begin_list();
  if (!instance.problem.empty()) json.value(instance.problem);
  for (const std::string& error : instance.errors)
    json.value(error);
  json.end_list();
  add_last_round(json, instance.last_round);
}

void add_waits(base::JsonText& json, const std::vector<WaitStanding>& waits) {
  json.key("waits").begin_list();
  for (const WaitStanding& wait : waits) {
    json.begin_object().member("state_id", wait.state_id).key("waiting_for").begin_list();
    for (const protocol::StateRef& open : wait.open)
      json.begin_object()
          .member("instance_id", open.instance_id)
          .member("state_id", open.state_id)
          .end_object();
    json.end_list();
    add_instant(json, "satisfied_at", wait.satisfied_at.value_or(0));
    json.end_object();
  }
  json.end_list();
}

HttpResponse instance_reply(Context& context, const Instance& instance) {
  base::JsonText json;
  begin_instance(json, instance, context.fleet.is_connected(instance.key));
  json.member("boot_id", instance.boot_id).member("recipe_digest", instance.recipe_digest);
  json.member("facts_hash", instance.facts_hash).key("facts").json(instance.facts);
  add_waits(json, context.fleet.waits().waits_of(instance.key));
  HttpResponse response = json_reply(kOk, json.end_object());
  response.headers.push_back({"ETag", etag(instance.edit)});
  return response;
}

Task<HttpResponse> list(Context& context, const Call& call) {
  const auto page = page_of(call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  InstanceFilter filter{.app_id = std::string(call.http.parameter("app"))};
  const std::string_view online = call.http.parameter("online");
  if (!online.empty()) {
    filter.online = base::Value::string(online).as_bool();
    if (!filter.online) co_return problem(kBadRequest, "online must be true or false");
  }
  const std::string_view text = call.http.parameter("selector");
  auto selector = Selector::parse(text.empty() ? "*" : text);
  if (!selector) co_return problem(kBadRequest, "selector " + selector.error().message());

  auto reading = context.store.read(
      [filter, wanted = std::get<PageRequest>(page), chosen = std::move(*selector)](Store& store) {
        return store.list_instances(filter, &chosen, wanted, chosen.uses_facts());
      });
  const auto instances = co_await std::move(reading);
  if (!instances) co_return problem_of(instances.error());
  co_return list_reply(*instances, [&](base::JsonText& json, const Instance& instance) {
    begin_instance(json, instance, context.fleet.is_connected(instance.key));
    json.end_object();
  });
}

Task<HttpResponse> show(Context& context, const Call& call) {
  auto reading = context.store.read(
      [app = call.captured[0], id = call.captured[1]](Store& store) { return store.find_instance(app, id); });
  const auto instance = co_await std::move(reading);
  if (!instance) co_return problem_of(instance.error());
  co_return instance_reply(context, *instance);
}

using TagPatch = std::map<std::string, std::optional<std::string>>;

TagPatch read_tags(Fields& fields) {
  constexpr std::size_t kLongestTag = 256;
  TagPatch patch;
  const base::Value* tags = fields.object("tags");
  if (!tags) return patch;
  for (const base::Member& member : tags->members()) {
    const std::string name = "tags." + std::string(member.key);
    if (member.key.empty() || member.key.size() > kLongestTag || !protocol::problem_of_id(member.key).empty())
      fields.complain(name, "is not a name for a tag");
    else if (member.value.is_null())
      patch.emplace(member.key, std::nullopt);
    else if (!member.value.is_text() || member.value.text().size() > kLongestTag)
      fields.complain(name, "must be null or text of 256 bytes at most");
    else
      patch.emplace(member.key, std::string(member.value.text()));
  }
  return patch;
}

struct Patched {
  Instance instance;
  Delivery delivery;
};

Task<HttpResponse> patch(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  const auto expected = expected_edit(call);
  if (const auto* refused = std::get_if<HttpResponse>(&expected)) co_return *refused;
  const auto edit = std::get<std::optional<Edit>>(expected);
  Fields fields(std::get<JsonBody>(body).root());
  const TagPatch tags = read_tags(fields);
  if (auto refused = fields.problems()) co_return std::move(*refused);

  auto writing =
      context.store.write([app = call.captured[0], id = call.captured[1], tags, edit, actor = call.actor,
                           detail = call.http.body](Store& store) -> base::Result<Patched> {
        auto patched = store.patch_tags(app, id, tags, edit);
        if (!patched) return std::move(patched).error();
        auto placed = place_instance(store, patched->key);
        if (!placed) return std::move(placed).error();
        auto delivery = prepare_delivery(store, std::move(*placed), {patched->key});
        if (!delivery) return std::move(delivery).error();
        auto noted = audit(store, actor, "instance.tag", app + "/" + id, detail);
        if (!noted) return std::move(noted).error();
        auto after = store.find_instance(patched->key);
        if (!after) return std::move(after).error();
        return Patched{std::move(*after), std::move(*delivery)};
      });
  const auto patched = co_await std::move(writing);
  if (!patched) co_return problem_of(patched.error(), edit ? kPreconditionFailed : kConflict);
  context.fleet.deliver(patched->delivery);
  co_return instance_reply(context, patched->instance);
}

Task<HttpResponse> forget(Context& context, const Call& call) {
  auto writing = context.store.write([app = call.captured[0], id = call.captured[1],
                                      actor = call.actor](Store& store) -> base::Result<InstanceKey> {
    auto instance = store.find_instance(app, id);
    if (!instance) return std::move(instance).error();
    auto forgotten = store.forget_instance(app, id);
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

constexpr Route kRoutes[] = {
    {.method = "GET",
     .pattern = "/instances",
     .summary = "Instances, by app and id",
     .handler = list,
     .queries = "app selector online limit after"},
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
};

}  // namespace

std::span<const Route> instance_routes() {
  return kRoutes;
}

}  // namespace backend::api
