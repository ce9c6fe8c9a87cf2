// /events: what happens, as server-sent events.
#include <algorithm>
#include <iterator>

#include "backend/api/callers/scope.hpp"
#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "base/text.hpp"

namespace backend::api {

namespace events_resource {

namespace {

using std::chrono::seconds;

// A comment now and then shows both ends that the other is there.
constexpr seconds kQuiet{15};
// How soon a stream without events notices that its client has gone.
constexpr seconds kLook{2};
constexpr std::size_t kEventsPerTurn = 64;

// A place among the streams, from the moment that it was allowed: what is not counted before it flows could
// be asked for many times at once.
class StreamPlace {
 public:
  StreamPlace(Context& context, std::string token_id) : context_(context), token_id_(std::move(token_id)) {
    ++context_.event_streams;
    ++context_.streams_open[token_id_];
  }
  ~StreamPlace() {
    --context_.event_streams;
    const auto found = context_.streams_open.find(token_id_);
    if (found != context_.streams_open.end() && --found->second == 0) context_.streams_open.erase(found);
  }
  StreamPlace(const StreamPlace&) = delete;
  StreamPlace& operator=(const StreamPlace&) = delete;

 private:
  Context& context_;
  const std::string token_id_;
};

// The place, or the answer to give instead.
std::variant<std::shared_ptr<StreamPlace>, HttpResponse> take_place(Context& context,
                                                                    const std::string& token_id) {
  const auto own = context.streams_open.find(token_id);
  const auto verdict =
      domain::decide_stream(own == context.streams_open.end() ? 0 : own->second, context.event_streams);
  if (verdict == domain::StreamVerdict::open) return std::make_shared<StreamPlace>(context, token_id);
  const bool is_own = verdict == domain::StreamVerdict::too_many_of_token;
  HttpResponse refused = problem(is_own ? kTooManyRequests : kUnavailable, domain::explain(verdict));
  refused.headers.push_back({"Retry-After", "30"});
  return refused;
}

struct StreamRequest {
  telemetry::EventFilter filter;
  Scope scope;           // what the caller reaches, and of that what ?selector= matches
  std::string token_id;  // the stream ends when this does
  telemetry::EventId after = 0;
  std::optional<domain::InstanceKey> output_of;
  std::shared_ptr<StreamPlace> place;  // held for as long as it flows
};

std::string gap(telemetry::EventId id) {
  return transport::format_event(std::to_string(id), "gap", R"({"reason":"events were missed"})");
}

using Events = std::vector<std::shared_ptr<const telemetry::Event>>;

// The next events of interest; empty: all that there are were looked at. Moves `after` on.
Events next_events(const telemetry::EventLog& log, const telemetry::EventFilter& filter,
                   telemetry::EventId& after) {
  Events wanted;
  while (wanted.empty()) {
    const auto events = log.after(after, kEventsPerTurn);
    if (events.empty()) break;
    std::ranges::copy_if(events, std::back_inserter(wanted),
                         [&](const auto& each) { return filter.wants(*each); });
    after = events.back()->id;
  }
  return wanted;
}

// Those of machines in the scope. Asked anew each time: tags change, and with them who is in it.
Task<base::Result<Events>> keep_covered(Context& context, const StreamRequest& request, Events events) {
  auto reading = context.store.read(
      request.token_id,
      [scope = request.scope, events = std::move(events)](store::Store& store) -> base::Result<Events> {
        CoveredNames covered(store, scope);
        Events kept;
        for (const auto& event : events) {
          auto has = covered.has(event->app_id, event->instance_id);
          if (!has) return std::move(has).error();
          if (*has) kept.push_back(event);
        }
        return kept;
      });
  co_return co_await std::move(reading);
}

std::string text_of(const Events& events) {
  std::string chunk;
  for (const auto& event : events)
    chunk += transport::format_event(std::to_string(event->id), event->type, event->data);
  return chunk;
}

Task<> stream(Context& context, StreamRequest request, transport::EventSink& sink) {
  std::optional<fleet::Fleet::OutputWatch> output;
  if (request.output_of) output.emplace(context.fleet, *request.output_of);
  telemetry::EventLog& log = context.events;
  std::string hello = ": connected\n\n";
  if (!log.has_all_after(request.after)) {
    // Missed while away, or of a backend that was started anew: from here on nothing is missing.
    request.after = log.newest();
    hello += gap(request.after);
  }
  auto greeting = sink.send(std::move(hello));
  const auto greeted = co_await std::move(greeting);
  if (!greeted) co_return;
  auto last_sent = std::chrono::steady_clock::now();
  while (!sink.ended()) {
    if (!log.has_all_after(request.after)) {
      // It reads more slowly than things happen. It may come back, and continue after the gap.
      context.metrics.events_cut_off.add();
      auto last = sink.send(gap(log.oldest() - 1));
      (void)co_await std::move(last);
      co_return;
    }
    if (!context.tokens.is_good(request.token_id, domain::now_millis())) co_return;
    Events events = next_events(log, request.filter, request.after);
    const bool seen_all = events.empty();
    if (request.scope && !seen_all) {
      auto keeping = keep_covered(context, request, std::move(events));
      auto kept = co_await std::move(keeping);
      if (!kept) co_return;
      events = std::move(*kept);
    }
    std::string chunk = text_of(events);
    if (chunk.empty()) {
      if (seen_all) co_await log.wait(kLook);
      if (std::chrono::steady_clock::now() - last_sent < kQuiet) continue;
      chunk = ": still here\n\n";
    }
    auto sending = sink.send(std::move(chunk));
    const auto sent = co_await std::move(sending);
    if (!sent) co_return;
    last_sent = std::chrono::steady_clock::now();
  }
}

std::variant<StreamRequest, HttpResponse> read_stream_request(Context& context, const Call& call) {
  StreamRequest request;
  request.scope = call.caller.scope;
  if (const std::string_view text = call.http.parameter("selector"); !text.empty()) {
    auto selector = domain::Selector::parse(text);
    if (selector) selector = narrowed(call.caller.scope, *selector);
    if (!selector) return problem(kBadRequest, "selector " + selector.error().message());
    request.scope = std::move(*selector);
  }
  request.token_id = call.caller.token_id;
  request.filter.app_id = call.http.parameter("app");
  request.filter.instance_id = call.http.parameter("instance");
  for (const std::string_view type : base::split(call.http.parameter("types"), ',')) {
    if (std::ranges::find(telemetry::kEventTypes, type) == std::end(telemetry::kEventTypes))
      return problem(kBadRequest, "there are no events of the type '" + std::string(type) + "'");
    request.filter.types.emplace_back(type);
  }
  const std::string_view output = call.http.parameter("output");
  const auto wants_output = output.empty() ? std::optional(false) : base::Value::string(output).as_bool();
  if (!wants_output) return problem(kBadRequest, "output must be 1 or 0");
  request.filter.output = *wants_output;
  if (*wants_output && (request.filter.app_id.empty() || request.filter.instance_id.empty()))
    return problem(kBadRequest, "live output is of one instance: ?app=…&instance=…&output=1");
  request.after = context.events.newest();
  if (const std::string_view last = call.http.header("Last-Event-ID"); !last.empty()) {
    const auto id = base::parse_integer(last);
    if (!id || *id < 0) return problem(kBadRequest, "Last-Event-ID is not one of ours");
    // 0: everything that is still here.
    request.after = *id == 0 ? context.events.oldest() - 1 : static_cast<telemetry::EventId>(*id);
  }
  return request;
}

Task<HttpResponse> events(Context& context, const Call& call) {
  auto read = read_stream_request(context, call);
  if (const auto* refused = std::get_if<HttpResponse>(&read)) co_return *refused;
  StreamRequest request = std::get<StreamRequest>(std::move(read));
  auto place = take_place(context, call.caller.token_id);
  if (const auto* refused = std::get_if<HttpResponse>(&place)) co_return *refused;
  request.place = std::get<std::shared_ptr<StreamPlace>>(std::move(place));
  if (request.filter.output) {
    auto reading = context.store.read(
        request.token_id,
        [app = request.filter.app_id, id = request.filter.instance_id,
         scope = request.scope](store::Store& store) { return find_covered(store, scope, app, id); });
    const auto instance = co_await std::move(reading);
    if (!instance) co_return problem_of(instance.error());
    request.output_of = instance->key;
  }
  HttpResponse response;
  response.headers = {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}};
  response.stream = [&context, request = std::move(request)](transport::EventSink& sink) {
    return stream(context, request, sink);
  };
  co_return response;
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .pattern = "/events",
     .summary = "What happens, as server-sent events",
     .handler = events,
     .queries = "app instance selector types output"},
};

}  // namespace

}  // namespace events_resource

std::span<const Route> event_routes() {
  return events_resource::kRoutes;
}

}  // namespace backend::api
