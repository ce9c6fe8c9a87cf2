#include "agent/runtime/recipe_store.hpp"

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/values/json_text.hpp"
#include "recipe/document.hpp"

namespace agent::runtime {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

std::string text_of(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  return value ? std::string(value->text()) : std::string();
}

std::string to_text(const StoredRecipe& recipe) {
  base::JsonText json;
  json.begin_object().member("version", recipe.version).member("digest", recipe.digest);
  json.member("on_change", recipe.on_change == engine::OnChange::kill ? "kill" : "finish");
  if (recipe.round_delay) json.member("round_delay_s", recipe.round_delay->count());
  json.key("module").begin_object().member("repo", recipe.module.repo).member("tag", recipe.module.tag);
  json.member("commit", recipe.module.commit).end_object();
  if (!recipe.module_commit.empty())
    json.key("module_in_use")
        .begin_object()
        .member("commit", recipe.module_commit)
        .optional("signer", recipe.module_signer)
        .end_object();
  if (recipe.compat_v1) json.member("compat", "v1");
  if (!recipe.vars.empty()) json.key("vars").json(recipe.vars);
  if (!recipe.tags.empty()) {
    json.key("tags").begin_object();
    for (const auto& [name, value] : recipe.tags)
      json.member(name, value);
    json.end_object();
  }
  json.key("states").json(recipe.states);
  return json.end_object().take() + "\n";
}

}  // namespace

Result<std::optional<StoredRecipe>> RecipeStore::load() const {
  auto text = base::read_file(path_, recipe::kLargestRecipe + protocol::kLargestVariables + 64 * 1024);
  if (!text) {
    if (text.error().code() == ErrorCode::not_found) return std::optional<StoredRecipe>();
    return std::move(text).error();
  }
  base::Arena arena;
  const auto parsed = base::parse_json(*text, arena);
  const auto* root = std::get_if<Value>(&parsed);
  const Value* version = root ? root->find("version") : nullptr;
  const Value* states = root ? root->find("states") : nullptr;
  if (!version || !states || !states->is_list())
    return Error(ErrorCode::invalid, path_ + " is damaged; the backend will send the recipe again");
  StoredRecipe recipe{
      .version = version->as_integer().value_or(0),
      .digest = text_of(*root, "digest"),
      .on_change = text_of(*root, "on_change") == "kill" ? engine::OnChange::kill : engine::OnChange::finish,
      .states = base::to_json(*states),
      .compat_v1 = text_of(*root, "compat") == "v1"};
  if (const Value* delay = root->find("round_delay_s"))
    if (const auto seconds = delay->as_integer()) recipe.round_delay = std::chrono::seconds(*seconds);
  if (const Value* module = root->find("module"))
    recipe.module = {text_of(*module, "repo"), text_of(*module, "tag"), text_of(*module, "commit")};
  if (const Value* in_use = root->find("module_in_use")) {
    recipe.module_commit = text_of(*in_use, "commit");
    recipe.module_signer = text_of(*in_use, "signer");
  }
  if (const Value* vars = root->find("vars"); vars && vars->is_object()) recipe.vars = base::to_json(*vars);
  if (const Value* tags = root->find("tags"))
    for (const base::Member& tag : tags->members())
      recipe.tags.emplace(tag.key, tag.value.text());
  return std::optional(std::move(recipe));
}

Result<void> RecipeStore::store(const StoredRecipe& recipe) const {
  return base::write_durable_file(path_, to_text(recipe));
}

}  // namespace agent::runtime
