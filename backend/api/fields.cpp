#include "backend/api/fields.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/values/json.hpp"

namespace backend::api {

std::variant<JsonBody, HttpResponse> JsonBody::read(std::string_view text) {
  JsonBody body;
  body.arena_ = std::make_unique<base::Arena>();
  auto parsed = base::parse_json(text, *body.arena_);
  if (const auto* wrong = std::get_if<base::SyntaxProblem>(&parsed))
    return problem(kBadRequest, "the body is not JSON: " + wrong->message + " (at byte " +
                                    std::to_string(wrong->offset) + ")");
  body.root_ = std::get<base::Value>(parsed);
  if (!body.root_.is_object()) return problem(kBadRequest, "the body must be a JSON object");
  return body;
}

const base::Value* Fields::take(std::string_view name) {
  known_.push_back(name);
  const base::Value* found = object_.find(name);
  return found && found->is_null() ? nullptr : found;
}

void Fields::complain(std::string_view field, std::string message) {
  items_.push_back({.message = std::move(message), .field = std::string(field)});
}

std::string Fields::text(std::string_view name) {
  const base::Value* found = take(name);
  if (!found)
    complain(name, "is missing");
  else if (!found->is_text() || found->text().empty())
    complain(name, "must be text that is not empty");
  else
    return std::string(found->text());
  return {};
}

std::string Fields::text_or(std::string_view name, std::string_view otherwise) {
  const base::Value* found = take(name);
  if (!found) return std::string(otherwise);
  if (!found->is_text()) complain(name, "must be text");
  return std::string(found->text());
}

std::string Fields::one_of(std::string_view name, std::string_view choices, std::string_view otherwise) {
  std::string given = text_or(name, otherwise);
  const auto words = base::split_words(choices);
  if (std::ranges::find(words, std::string_view(given)) == words.end())
    complain(name, "must be one of: " + std::string(choices));
  return given;
}

std::optional<std::int64_t> Fields::integer(std::string_view name, std::int64_t least, std::int64_t most) {
  const base::Value* found = take(name);
  if (!found) return std::nullopt;
  const auto number = found->kind() == base::Value::Kind::integer ? found->as_integer() : std::nullopt;
  if (!number || *number < least || *number > most) {
    complain(name, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return std::nullopt;
  }
  return number;
}

std::int64_t Fields::integer_or(std::string_view name, std::int64_t otherwise, std::int64_t least,
                                std::int64_t most) {
  return integer(name, least, most).value_or(otherwise);
}

bool Fields::flag_or(std::string_view name, bool otherwise) {
  const base::Value* found = take(name);
  if (!found) return otherwise;
  if (found->kind() != base::Value::Kind::boolean) {
    complain(name, "must be true or false");
    return otherwise;
  }
  return found->as_bool().value_or(otherwise);
}

std::vector<std::string> Fields::texts(std::string_view name) {
  const base::Value* found = take(name);
  std::vector<std::string> all;
  if (!found) return all;
  if (!found->is_list()) complain(name, "must be a list of texts");
  for (const base::Value& item : found->items()) {
    if (!item.is_text()) {
      complain(name, "must be a list of texts");
      break;
    }
    all.emplace_back(item.text());
  }
  return all;
}

const base::Value* Fields::value(std::string_view name) {
  return take(name);
}

const base::Value* Fields::object(std::string_view name) {
  const base::Value* found = take(name);
  if (found && found->is_object()) return found;
  complain(name, found ? "must be an object" : "is missing");
  return nullptr;
}

std::vector<ProblemItem> Fields::problem_items() {
  for (const base::Member& member : object_.members()) {
    if (std::ranges::find(known_, member.key) != known_.end()) continue;
    complain(member.key, "is not known" + base::did_you_mean(member.key, known_));
  }
  return std::move(items_);
}

std::optional<HttpResponse> Fields::problems() {
  const std::vector<ProblemItem> items = problem_items();
  if (items.empty()) return std::nullopt;
  std::string detail;
  for (const ProblemItem& item : items)
    detail += (detail.empty() ? "" : "; ") + item.field + " " + item.message;
  return problem(kUnprocessable, detail, items);
}

std::variant<domain::PageRequest, HttpResponse> page_of(const Call& call) {
  domain::PageRequest page;
  page.after = call.http.parameter("after");
  const std::string_view limit = call.http.parameter("limit");
  if (limit.empty()) return page;
  const auto number = base::parse_integer(limit);
  if (!number || *number < 1 || *number > static_cast<std::int64_t>(domain::kLargestPage))
    return problem(kBadRequest, "limit must be a number from 1 to " + std::to_string(domain::kLargestPage));
  page.limit = static_cast<std::size_t>(*number);
  return page;
}

std::variant<std::optional<domain::Edit>, HttpResponse> expected_edit(const Call& call) {
  const std::string_view none = base::trim(call.http.header("If-None-Match"));
  const std::string_view given = base::trim(call.http.header("If-Match"));
  if (!none.empty()) {
    if (none != "*" || !given.empty())
      return problem(kBadRequest, "with a change, If-None-Match must be * and without an If-Match");
    return std::optional<domain::Edit>(0);
  }
  if (given.empty()) return std::optional<domain::Edit>();
  if (given == "*") return std::optional<domain::Edit>(domain::kAnyEdit);
  const bool quoted = given.size() > 2 && given.front() == '"' && given.back() == '"';
  // Behind the dash is what was shown besides what can be edited: presence, say. It may have changed.
  const std::string_view tag = quoted ? given.substr(1, given.size() - 2) : std::string_view();
  const auto number = base::parse_integer(tag.substr(0, tag.find('-')));
  if (!number || *number < 1) return problem(kBadRequest, "If-Match must be * or an ETag of this API");
  return std::optional<domain::Edit>(*number);
}

}  // namespace backend::api
