// openapi.json held against the table of routes. That answers are as it describes them is checked wherever a
// test calls the API: tests/support/described.hpp.
#include <set>

#include "backend/api/callers/token_cache.hpp"
#include "backend/api/route.hpp"
#include "backend/telemetry/event_log.hpp"
#include "tests/support/live_backend.hpp"

using backend::api::Route;
using base::Value;
using tests::JsonView;

namespace {

const JsonView& document() {
  static const JsonView kDocument{std::string(backend::api::openapi_document())};
  return kDocument;
}

Value operation_of(const Route& route) {
  std::string method(route.method);
  for (char& c : method)
    c = static_cast<char>(c - 'A' + 'a');
  const Value paths = document().at("paths");
  const Value* path = paths.find(route.pattern);
  const Value* operation = path ? path->find(method) : nullptr;
  REQUIRE_MESSAGE(operation, (method + " " + std::string(route.pattern)));
  return *operation;
}

// With those that several routes share.
std::vector<Value> parameters_of(const Value& operation) {
  std::vector<Value> all;
  const Value* listed = operation.find("parameters");
  for (const Value& each : listed ? listed->items() : std::span<const Value>()) {
    const Value* shared = each.find("$ref");
    const std::string_view name = shared ? shared->text().substr(shared->text().rfind('/') + 1) : "";
    all.push_back(shared ? document().at("components.parameters." + std::string(name)) : each);
    REQUIRE_MESSAGE(all.back().is_object(), std::string(name));
  }
  return all;
}

std::string names_in(const std::vector<Value>& parameters, std::string_view where) {
  std::string names;
  for (const Value& parameter : parameters)
    if (parameter.find("in")->text() == where)
      names += (names.empty() ? "" : " ") + std::string(parameter.find("name")->text());
  return names;
}

std::string captured_by(std::string_view pattern) {
  std::string names;
  for (const std::string_view part : base::split(pattern, '/'))
    if (part.starts_with('{'))
      names += (names.empty() ? "" : " ") + std::string(part.substr(1, part.size() - 2));
  return names;
}

}  // namespace

TEST_CASE("the served description names exactly the routes that there are, with their parameters") {
  std::size_t described = 0;
  const Value paths = document().at("paths");
  for (const base::Member& path : paths.members())
    described += path.value.members().size();
  const auto routes = backend::api::all_routes();
  CHECK(described == routes.size());
  for (const Route& route : routes) {
    CAPTURE(route.method);
    CAPTURE(route.pattern);
    const Value operation = operation_of(route);
    CHECK(operation.find("summary")->text() == route.summary);
    CHECK((operation.find("requestBody") != nullptr) == (route.body != backend::api::Body::none));
    const auto parameters = parameters_of(operation);
    CHECK(names_in(parameters, "query") == route.queries);
    CHECK(names_in(parameters, "path") == captured_by(route.pattern));
    for (const Value& parameter : parameters) {
      REQUIRE(parameter.find("description"));
      if (parameter.find("name")->text() == "limit")
        CHECK(parameter.find("schema")->find("type")->text() == "integer");
    }
  }
}

TEST_CASE("the served description says who may call a route, and what is refused everywhere") {
  std::set<std::string> ids, tags;
  const Value known_tags = document().at("tags");
  for (const Value& tag : known_tags.items())
    tags.emplace(tag.find("name")->text());
  for (const Route& route : backend::api::all_routes()) {
    CAPTURE(route.method);
    CAPTURE(route.pattern);
    const Value operation = operation_of(route);
    REQUIRE(operation.find("operationId"));
    CHECK(ids.emplace(operation.find("operationId")->text()).second);
    REQUIRE(operation.find("tags"));
    REQUIRE(operation.find("tags")->items().size() == 1);
    CHECK(tags.contains(std::string(operation.find("tags")->items()[0].text())));
    REQUIRE(operation.find("description"));
    const std::string_view text = operation.find("description")->text();
    const bool is_open = route.role == backend::api::Role::anyone;
    const std::string role = "Needs the role `" + std::string(backend::api::name_of(route.role)) + "`";
    CHECK_MESSAGE(text.find(is_open ? "Open to everybody." : role) != std::string_view::npos,
                  std::string(text));
    CHECK((text.find("a token without a scope.") != std::string_view::npos) ==
          (route.reach == backend::api::Reach::everything));
    for (const char* status : {"401", "403", "429"})
      CHECK_MESSAGE((operation.find("responses")->find(status) != nullptr) == !is_open, status);
    CHECK(operation.find("responses")->find("400"));
  }
}

TEST_CASE("the served description has the event types that there are") {
  const Value operation = operation_of({.method = "GET", .pattern = "/events", .summary = ""});
  std::string described, there;
  for (const Value& parameter : parameters_of(operation))
    if (parameter.find("name")->text() == "types")
      for (const Value& type : parameter.find("schema")->find("items")->find("enum")->items())
        described += std::string(type.text()) + " ";
  for (const std::string_view type : backend::telemetry::kEventTypes)
    there += std::string(type) + " ";
  CHECK(described == there);
}
