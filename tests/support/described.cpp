#include "tests/support/described.hpp"

#include <algorithm>
#include <array>

#include "backend/api/route.hpp"
#include "tests/support/live_backend.hpp"

namespace tests {

namespace {

using base::Value;

const JsonView& document() {
  static const JsonView kDocument{std::string(backend::api::openapi_document())};
  return kDocument;
}

// What "#/components/…" stands for, or the value itself.
Value resolved(const Value& value) {
  const Value* reference = value.find("$ref");
  if (!reference) return value;
  Value found = document().root();
  for (const std::string_view part : base::split(reference->text().substr(2), '/')) {
    const Value* next = found.find(part);
    REQUIRE_MESSAGE(next, std::string(reference->text()));
    found = *next;
  }
  return found;
}

bool matches(std::string_view pattern, std::string_view path) {
  const auto wanted = base::split(pattern, '/');
  const auto given = base::split(path, '/');
  return std::ranges::equal(wanted, given,
                            [](auto part, auto text) { return part == text || part.starts_with('{'); });
}

bool has_type(std::string_view type, const Value& value) {
  using Kind = Value::Kind;
  const Kind kind = value.kind();
  if (type == "null") return value.is_null();
  if (type == "boolean") return kind == Kind::boolean;
  if (type == "string") return kind == Kind::string;
  if (type == "array") return value.is_list();
  if (type == "object") return value.is_object();
  return kind == Kind::integer || (type == "number" && kind == Kind::real);
}

// What is wrong with the value at `where`; "": nothing.
std::string mismatch(const Value& given_schema, const Value& value, const std::string& where);

std::string mismatch_of_members(const Value& schema, const Value& value, const std::string& where) {
  if (const Value* required = schema.find("required"))
    for (const Value& name : required->items())
      if (!value.find(name.text())) return where + " lacks " + std::string(name.text());
  const Value* properties = schema.find("properties");
  const Value* additional = schema.find("additionalProperties");
  if (!properties && !additional) return {};
  for (const base::Member& member : value.members()) {
    const std::string name = where + "." + std::string(member.key);
    const Value* known = properties ? properties->find(member.key) : nullptr;
    if (!known) known = additional;
    if (!known) return name + " is not described";
    if (auto wrong = mismatch(*known, member.value, name); !wrong.empty()) return wrong;
  }
  return {};
}

std::string mismatch(const Value& given_schema, const Value& value, const std::string& where) {
  const Value schema = resolved(given_schema);
  if (const Value* any = schema.find("anyOf")) {
    const bool fits = std::ranges::any_of(
        any->items(), [&](const Value& one) { return mismatch(one, value, where).empty(); });
    if (!fits) return where + " is none of those that it may be";
  }
  if (const Value* type = schema.find("type")) {
    const bool fits = type->is_list()
                          ? std::ranges::any_of(type->items(),
                                                [&](const Value& one) { return has_type(one.text(), value); })
                          : has_type(type->text(), value);
    if (!fits) return where + " has another type";
  }
  if (const Value* choices = schema.find("enum"); choices && value.is_text())
    if (std::ranges::none_of(choices->items(), [&](const Value& one) { return one.text() == value.text(); }))
      return where + " has a value that is not described: " + std::string(value.text());
  if (const Value* items = schema.find("items"))
    for (const Value& item : value.items())
      if (auto wrong = mismatch(*items, item, where + "[]"); !wrong.empty()) return wrong;
  return value.is_object() ? mismatch_of_members(schema, value, where) : std::string();
}

// Of the status itself, or of its hundred.
std::optional<Value> find_response(const Value& operation, unsigned status) {
  const Value* responses = operation.find("responses");
  const Value* found = responses->find(std::to_string(status));
  if (!found) found = responses->find(std::to_string(status / 100) + "XX");
  return found ? std::optional(resolved(*found)) : std::nullopt;
}

void check_headers(const Value& response, const transport::HttpReply& reply) {
  constexpr std::array<std::string_view, 6> kOfHttp = {"Date",         "Server",         "Connection",
                                                       "Content-Type", "Content-Length", "Transfer-Encoding"};
  const Value* described = response.find("headers");
  for (const transport::Header& header : reply.headers)
    if (std::ranges::find(kOfHttp, header.name) == kOfHttp.end())
      CHECK_MESSAGE((described && described->find(header.name)), header.name);
}

void check_body(const Value& response, const transport::HttpReply& reply) {
  const Value* content = response.find("content");
  if (!content) {
    CHECK(reply.body.empty());
    return;
  }
  const std::string_view type = reply.header("Content-Type");
  const Value* media = content->find(type.substr(0, type.find(';')));
  REQUIRE_MESSAGE(media, std::string(type));
  if (!type.ends_with("json")) return;
  const JsonView body(reply.body);
  const std::string wrong = mismatch(*media->find("schema"), body.root(), "body");
  CHECK_MESSAGE(wrong.empty(), wrong);
}

}  // namespace

void check_described(const std::string& method, const std::string& target,
                     const transport::HttpReply& reply) {
  const std::string_view path = std::string_view(target).substr(0, target.find('?'));
  std::string name = method == "HEAD" ? "get" : method;
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const Value paths = document().at("paths");
  for (const base::Member& each : paths.members()) {
    const Value* operation = matches(each.key, path) ? each.value.find(name) : nullptr;
    if (!operation) continue;
    CAPTURE(method);
    CAPTURE(target);
    const auto response = find_response(*operation, reply.status);
    REQUIRE_MESSAGE(response, (std::to_string(reply.status) + " is not described: " + reply.body));
    check_headers(*response, reply);
    if (method != "HEAD") check_body(*response, reply);
    return;
  }
}

}  // namespace tests
