#include "states/json/json_document.hpp"

#include <variant>

#include "base/values/json.hpp"

namespace states::json {

base::Result<JsonDocument> JsonDocument::parse(std::string text) {
  JsonDocument document;
  document.text_ = std::make_unique<std::string>(std::move(text));
  document.arena_ = std::make_unique<base::Arena>();
  auto parsed = base::parse_json(*document.text_, *document.arena_);
  if (const auto* wrong = std::get_if<base::SyntaxProblem>(&parsed))
    return base::Error(base::ErrorCode::io, "no JSON: " + wrong->message);
  document.root_ = std::get<base::Value>(parsed);
  return document;
}

const base::Value* find_value(const base::Value& value, std::initializer_list<std::string_view> path) {
  const base::Value* at = &value;
  for (const std::string_view name : path)
    if (at) at = at->find(name);
  return at;
}

std::string find_text(const base::Value& value, std::initializer_list<std::string_view> path) {
  const base::Value* found = find_value(value, path);
  return found ? std::string(found->text()) : std::string();
}

std::vector<std::string> find_texts(const base::Value& value, std::initializer_list<std::string_view> path) {
  std::vector<std::string> texts;
  if (const base::Value* found = find_value(value, path))
    for (const base::Value& item : found->items())
      texts.emplace_back(item.text());
  return texts;
}

}  // namespace states::json
