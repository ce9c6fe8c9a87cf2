#include "agent/runtime/recipe_text.hpp"

#include <map>
#include <vector>

#include "base/values/json.hpp"
#include "base/values/json_text.hpp"
#include "recipe/document.hpp"
#include "recipe/expressions.hpp"

namespace agent::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

class WholeRecipes final : public recipe::FileSource {
 public:
  void add(std::string name, std::string text) { texts_.emplace(std::move(name), std::move(text)); }
  Result<std::string> file(std::string_view name) override {
    const auto found = texts_.find(name);
    if (found != texts_.end()) return found->second;
    return Error(ErrorCode::not_found, "the file '" + std::string(name) + "' did not come with the recipe");
  }

 private:
  std::map<std::string, std::string, std::less<>> texts_;
};

std::string text_in(const Value& item, std::string_view key) {
  const Value* value = item.find(key);
  return value ? std::string(value->text()) : std::string();
}

std::string file_name(const Value& item) {
  return text_in(item, "syntax") == "json" ? "recipe.json" : "recipe.yaml";
}

// Beside recipes with expressions what looks like one in a plain state is still text.
std::string literal(std::string_view json) {
  static constexpr std::string_view kLiteral = "${{ '${{' }}";
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t next = json.find(recipe::kExpressionBegin, at);
    out += json.substr(at, next - at);
    if (next == std::string_view::npos) break;
    out += kLiteral;
    at = next + recipe::kExpressionBegin.size();
  }
  return out;
}

// What a whole recipe says beside its states is for it alone: its files are known by its folder. Answers the
// name of the recipe itself, which none of its files has: they must not take its place.
Result<std::string> add_whole(const Value& item, const std::string& folder, WholeRecipes& files) {
  recipe::Document document;
  document.text = text_in(item, "content");
  document.syntax = recipe::guess_syntax(file_name(item), document.text);
  if (auto wrong = recipe::parse(document)) return Error(ErrorCode::invalid, wrong->message);
  const Value* own = document.root.find("files");
  std::string name = file_name(item);
  while (own && own->find(name))
    name.insert(0, 1, '_');
  name.insert(0, folder + "/");
  if (own)
    for (const base::Member& file : own->members())
      files.add(folder + "/" + std::string(file.key), std::string(file.value.text()));
  files.add(name, text_in(item, "content"));
  return name;
}

}  // namespace

Result<RecipeText> compose_recipe(const std::string& states) {
  // Most have none of this, and are read once.
  if (states.find("\"content\"") == std::string::npos)
    return RecipeText{.name = "recipe.json", .text = states};
  base::Arena arena;
  const auto read = base::parse_json(states, arena);
  const auto* root = std::get_if<Value>(&read);
  if (!root || !root->is_list()) return Error(ErrorCode::invalid, "the states are not a JSON list");
  const auto is_whole = [](const Value& item) { return item.find("content") && !item.find("module"); };
  std::size_t whole = 0;
  for (const Value& item : root->items())
    whole += is_whole(item) ? 1U : 0U;
  if (whole == 0) return RecipeText{.name = "recipe.json", .text = states};
  if (root->items().size() == 1) {
    const Value& only = root->items()[0];
    return RecipeText{.name = file_name(only), .text = text_in(only, "content")};
  }
  auto files = std::make_shared<WholeRecipes>();
  base::JsonText json;
  json.begin_object().member("version", 2).key("states").begin_list();
  std::size_t number = 0;
  for (const Value& item : root->items()) {
    if (!is_whole(item)) {
      json.json(literal(base::to_json(item)));
      continue;
    }
    const std::string folder = std::to_string(++number);
    auto name = add_whole(item, folder, *files);
    if (!name) return std::move(name).error();
    json.begin_object().member("include", *name).end_object();
  }
  json.end_list().end_object();
  return RecipeText{.name = "recipe.json", .text = json.take(), .files = std::move(files)};
}

}  // namespace agent::runtime
