// What a client of the API sends: a body with members of every kind, parameters of a list, If-Match. The
// first line is the query and the second the header, the rest is the body. There is no store behind it.
#include "backend/api/fields.hpp"
#include "backend/api/names.hpp"
#include "backend/domain/placement/recipe_check.hpp"
#include "base/values/json.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace backend::api;
using fuzz::require;

void is_answer(const HttpResponse& answer) {
  require(answer.status >= 400 && answer.status < 500, "what a client got wrong is its own mistake");
  base::Arena arena;
  const auto parsed = base::parse_json(answer.body, arena);
  require(std::holds_alternative<base::Value>(parsed), "an answer is JSON");
}

void read_fields(const base::Value& object) {
  Fields fields(object);
  check_name(fields, "name", fields.text("name"));
  fields.text_or("description", "");
  fields.one_of("report", "all changes", "all");
  const auto limit = fields.integer("limit", 1, 1000);
  require(!limit || (*limit >= 1 && *limit <= 1000), "a number is within its limits");
  fields.integer_or("version", 0, 0, 1'000'000);
  fields.flag_or("force", false);
  fields.texts("errors");
  read_selector(fields, "selector", {});
  const base::Value* const state = fields.value("state");
  fields.object("tags");
  if (state) backend::domain::check_single_state(base::to_json(*state));
  if (const auto problems = fields.problems()) is_answer(*problems);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = fuzz::text_of(data, size);
  Call call;
  transport::split_target("/?" + std::string(fuzz::next_part(rest, '\n')), call.http);
  call.http.headers.push_back({"If-Match", std::string(fuzz::next_part(rest, '\n'))});
  if (const auto page = page_of(call); const auto* wrong = std::get_if<HttpResponse>(&page))
    is_answer(*wrong);
  if (const auto edit = expected_edit(call); const auto* wrong = std::get_if<HttpResponse>(&edit))
    is_answer(*wrong);
  const auto body = JsonBody::read(rest);
  if (const auto* wrong = std::get_if<HttpResponse>(&body))
    is_answer(*wrong);
  else
    read_fields(std::get<JsonBody>(body).root());
  return 0;
}
