#include "backend/api/routes/failures.hpp"

#include "backend/api/callers/scope.hpp"
#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"

namespace backend::api {

base::Result<std::optional<domain::FailedState>> find_failure(store::Store& store,
                                                              const domain::Instance& instance) {
  if (instance.status != "failed") return std::optional<domain::FailedState>();
  return store.find_failed_state(instance.key);
}

void add_failure(base::JsonText& json, const std::optional<domain::FailedState>& failed) {
  json.key("failed_state");
  if (!failed) {
    json.null();
    return;
  }
  json.begin_object().member("state_id", failed->state_id).member("outcome", failed->outcome);
  json.member("recipe_version", failed->recipe_version).member("comment", failed->comment);
  domain::add_instant(json, "received", failed->received);
  json.end_object();
}

namespace failures_resource {

namespace {

struct Failure {
  domain::Instance instance;
  std::optional<domain::FailedState> state;
};
using Failures = domain::Page<Failure>;

base::Result<Failures> find_failures(store::Store& store, const std::string& app,
                                     const domain::Selector& selector, const domain::PageRequest& page) {
  auto instances = store.list_instances({.app_id = app, .only_failed = true}, &selector, page);
  if (!instances) return std::move(instances).error();
  Failures found{.items = {}, .next = std::move(instances->next)};
  for (domain::Instance& each : instances->items) {
    auto state = find_failure(store, each);
    if (!state) return std::move(state).error();
    found.items.push_back({std::move(each), std::move(*state)});
  }
  return found;
}

Task<HttpResponse> list(Context& context, const Call& call) {
  const auto page = page_of(call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  const std::string_view text = call.http.parameter("selector");
  auto selector = domain::Selector::parse(text.empty() ? "*" : text);
  if (selector) selector = narrowed(call.caller.scope, *selector);
  if (!selector) co_return problem(kBadRequest, "selector " + selector.error().message());
  auto reading = context.store.read(
      call.caller.token_id, [app = std::string(call.http.parameter("app")),
                             wanted = std::get<domain::PageRequest>(page), chosen = std::move(*selector)](
                                store::Store& store) { return find_failures(store, app, chosen, wanted); });
  const auto failures = co_await std::move(reading);
  if (!failures) co_return problem_of(failures.error());
  co_return list_reply(*failures, [](base::JsonText& json, const Failure& each) {
    const domain::Instance& instance = each.instance;
    json.begin_object().member("app_id", instance.app_id).member("instance_id", instance.instance_id);
    json.member("status", instance.status).member("reported_version", instance.reported_version);
    json.key("errors").begin_list();
    for (const std::string& error : instance.errors)
      json.value(error);
    json.end_list();
    add_failure(json, each.state);
    json.end_object();
  });
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .pattern = "/failures",
     .summary = "Instances whose recipe fails now, with the state and the reason",
     .handler = list,
     .queries = "app selector limit after"},
};

}  // namespace

}  // namespace failures_resource

std::span<const Route> failure_routes() {
  return failures_resource::kRoutes;
}

}  // namespace backend::api
