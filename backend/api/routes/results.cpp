#include <algorithm>

#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/routes/visible_pages.hpp"
#include "backend/domain/reports/report_json.hpp"
#include "base/text.hpp"

namespace backend::api {

namespace results_resource {

namespace {

struct Asked {
  domain::ReportFilter filter;
  domain::PageRequest page;
  Scope machines;  // what the caller reaches, and of that what ?selector= matches
};

// ?since= or ?until= is an instant in RFC 3339, or a number of seconds back from now.
std::optional<domain::Millis> read_instant(std::string_view text) {
  if (const auto seconds = base::parse_integer(text))
    return *seconds >= 0 && *seconds <= 1'000'000'000 ? std::optional(domain::now_millis() - *seconds * 1000)
                                                      : std::nullopt;
  const auto at = base::parse_utc(text);
  if (!at) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::milliseconds>(at->time_since_epoch()).count();
}

std::variant<Asked, HttpResponse> read_filter(const Context& context, const Call& call) {
  const auto page = visible_page_of(context, call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) return *refused;
  Asked asked{.filter = {}, .page = std::get<domain::PageRequest>(page)};
  domain::ReportFilter& filter = asked.filter;
  filter.app_id = call.http.parameter("app");
  filter.instance_id = call.http.parameter("instance");
  filter.state_id = call.http.parameter("state");
  filter.outcome = call.http.parameter("outcome");
  filter.run_id = call.http.parameter("run");
  constexpr std::string_view kOutcomes = "kept changed failed skipped cancelled timed_out";
  const auto outcomes = base::split_words(kOutcomes);
  if (!filter.outcome.empty() &&
      std::ranges::find(outcomes, std::string_view(filter.outcome)) == outcomes.end())
    return problem(kBadRequest, "outcome must be one of: " + std::string(kOutcomes));
  if (!filter.instance_id.empty() && filter.app_id.empty())
    return problem(kBadRequest, "an instance needs its app: ?app=…&instance=…");
  for (const auto& [name, instant] :
       {std::pair("since", &domain::ReportFilter::since), std::pair("until", &domain::ReportFilter::until)}) {
    const std::string_view text = call.http.parameter(name);
    if (text.empty()) continue;
    const auto at = read_instant(text);
    if (!at)
      return problem(kBadRequest,
                     std::string(name) + " must be an instant (2026-03-01T12:00:00Z) or seconds back");
    filter.*instant = *at;
  }
  asked.machines = call.caller.scope;
  if (const std::string_view text = call.http.parameter("selector"); !text.empty()) {
    auto selector = domain::Selector::parse(text);
    if (selector) selector = narrowed(call.caller.scope, *selector);
    if (!selector) return problem(kBadRequest, "selector " + selector.error().message());
    asked.machines = std::move(*selector);
  }
  return asked;
}

void begin_report(base::JsonText& json, const domain::ReportOrigin& origin) {
  json.begin_object().member("id", origin.id).member("app_id", origin.app_id);
  json.member("instance_id", origin.instance_id).member("agent_uid", origin.agent_uid);
  json.member("seq", origin.seq);
  domain::add_instant(json, "received", origin.received);
}

// What machines decide the length of.
std::size_t size_of(const domain::ResultRow& row) {
  return row.log.state_comment.size() + row.changes.size() +
         (row.log.state_stdout ? row.log.state_stdout->size() : 0);
}
std::size_t size_of(const domain::RoundRow& row) {
  std::size_t bytes = 0;
  for (const std::string& id : row.end.drift)
    bytes += id.size();
  return bytes;
}

// Only rows of instances that the caller reaches; `list` asks the store.
template <class Row, class List>
base::Result<domain::Page<Row>> list_covered(store::Store& store, const Scope& scope,
                                             const domain::PageRequest& page, List list) {
  CoveredNames covered(store, scope);
  const auto sees = [&](const Row& row) { return covered.has(row.origin.app_id, row.origin.instance_id); };
  return read_visible<Row>(
      scope, page, list, [&](std::vector<Row> rows) { return only(std::move(rows), sees); },
      [](const Row& row) { return std::to_string(row.origin.id); },
      [](const Row& row) { return size_of(row); });
}

// An instance that is named must be one that the caller reaches.
base::Result<void> check_named(store::Store& store, const Scope& scope, const domain::ReportFilter& filter) {
  if (!scope || filter.instance_id.empty()) return {};
  auto found = find_covered(store, scope, filter.app_id, filter.instance_id);
  if (!found) return std::move(found).error();
  return {};
}

Task<HttpResponse> results(Context& context, const Call& call) {
  const auto filter = read_filter(context, call);
  if (const auto* refused = std::get_if<HttpResponse>(&filter)) co_return *refused;
  auto reading = context.store.read(
      call.caller.token_id,
      [asked = std::get<Asked>(filter),
       scope = call.caller.scope](store::Store& store) -> base::Result<domain::Page<domain::ResultRow>> {
        if (auto named = check_named(store, scope, asked.filter); !named) return std::move(named).error();
        return list_covered<domain::ResultRow>(
            store, asked.machines, asked.page,
            [&](const domain::PageRequest& part) { return store.list_results(asked.filter, part); });
      });
  auto rows = co_await std::move(reading);
  if (!rows) co_return problem_of(rows.error());
  rows->next = next_for(context, call, rows->next);
  co_return list_reply(*rows, [](base::JsonText& json, const domain::ResultRow& row) {
    begin_report(json, row.origin);
    domain::add_log(json, row.log);
    json.key("changes").json(row.changes);
    json.end_object();
  });
}

Task<HttpResponse> rounds(Context& context, const Call& call) {
  const auto filter = read_filter(context, call);
  if (const auto* refused = std::get_if<HttpResponse>(&filter)) co_return *refused;
  auto reading = context.store.read(
      call.caller.token_id,
      [asked = std::get<Asked>(filter),
       scope = call.caller.scope](store::Store& store) -> base::Result<domain::Page<domain::RoundRow>> {
        if (auto named = check_named(store, scope, asked.filter); !named) return std::move(named).error();
        return list_covered<domain::RoundRow>(
            store, asked.machines, asked.page,
            [&](const domain::PageRequest& part) { return store.list_rounds(asked.filter, part); });
      });
  auto rows = co_await std::move(reading);
  if (!rows) co_return problem_of(rows.error());
  rows->next = next_for(context, call, rows->next);
  co_return list_reply(*rows, [](base::JsonText& json, const domain::RoundRow& row) {
    begin_report(json, row.origin);
    domain::add_round(json, row.end);
    json.end_object();
  });
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .pattern = "/results",
     .summary = "Results of states, newest first",
     .handler = results,
     .queries = "app instance selector state outcome since until run limit after"},
    {.method = "GET",
     .pattern = "/rounds",
     .summary = "Ends of rounds, newest first",
     .handler = rounds,
     .queries = "app instance selector since until run limit after"},
};

}  // namespace

}  // namespace results_resource

std::span<const Route> result_routes() {
  return results_resource::kRoutes;
}

}  // namespace backend::api
