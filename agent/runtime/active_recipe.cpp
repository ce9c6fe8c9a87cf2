#include "agent/runtime/active_recipe.hpp"

#include <algorithm>

#include "base/json.hpp"
#include "protocol/ids.hpp"

namespace agent::runtime {

namespace {

using base::Value;

constexpr std::string_view kWaitModule = "meta.wait";

protocol::StateRef to_target(const Value& value) {
  if (value.is_object()) {
    const auto text = [&](std::string_view key) {
      const Value* found = value.find(key);
      return found ? std::string(found->text()) : std::string();
    };
    std::string state = text("state_id");
    if (state.empty()) state = text("stateid");
    if (state.empty()) state = text("id");
    return {text("instance_id"), std::move(state)};
  }
  const std::string_view text = value.text();
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {"", std::string(text)};
  return {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

std::vector<protocol::StateRef> targets_of(const recipe::State& state) {
  std::vector<protocol::StateRef> targets;
  const Value* waited = state.parameter.find("state");
  if (!waited) return targets;
  if (!waited->is_list()) return {to_target(*waited)};
  for (const Value& each : waited->items())
    targets.push_back(to_target(each));
  return targets;
}

// As for settings.
constexpr std::chrono::seconds kShortestDelay{1};
constexpr std::chrono::seconds kLongestDelay = std::chrono::days(30);

engine::RunRecipe to_command(std::shared_ptr<const recipe::Recipe> recipe, const StoredRecipe& stored) {
  engine::RunRecipe command{
      .recipe = std::move(recipe), .version = stored.version, .on_change = stored.on_change};
  if (stored.round_delay) command.round_delay = *stored.round_delay;
  return command;
}

}  // namespace

ActiveRecipe::ActiveRecipe(RecipeStore& store, states::Registry registry, const std::string& waits)
    : store_(store), registry_(std::move(registry)), heard_before_(waits) {}

std::variant<std::shared_ptr<const recipe::Recipe>, Problems> ActiveRecipe::load(
    const std::string& name, const std::string& states) const {
  recipe::Loaded loaded = recipe::load_text("recipe.json", states, registry_);
  Problems problems;
  if (loaded.recipe) {
    // What cannot be reported must not run.
    for (const recipe::State& state : loaded.recipe->states())
      if (const std::string_view wrong = protocol::problem_of_id(state.id); !wrong.empty())
        problems.push_back(name + ": the id '" + std::string(state.id) + "' " + std::string(wrong));
    if (!problems.empty()) return problems;
    return std::move(loaded.recipe);
  }
  for (const recipe::Problem& problem : loaded.problems)
    problems.push_back(recipe::describe(problem, name));
  return problems;
}

std::variant<std::optional<engine::RunRecipe>, Problems> ActiveRecipe::start() {
  if (auto loaded = store_.load(); !loaded) return Problems{loaded.error().message()};
  if (!store_.current()) return std::optional<engine::RunRecipe>();
  const StoredRecipe& stored = *store_.current();
  auto recipe = load("version " + std::to_string(stored.version), stored.states);
  if (auto* problems = std::get_if<Problems>(&recipe)) return std::move(*problems);
  recipe_ = std::get<0>(std::move(recipe));
  return std::optional(to_command(recipe_, stored));
}

std::variant<engine::RunRecipe, Problems> ActiveRecipe::take(const protocol::RecipeMetadata& metadata) {
  auto recipe = load("version " + std::to_string(metadata.recipe_version), metadata.states->text);
  if (auto* problems = std::get_if<Problems>(&recipe)) return std::move(*problems);
  StoredRecipe stored{
      .version = metadata.recipe_version,
      .digest = metadata.digest,
      .on_change = metadata.kill_on_change ? engine::OnChange::kill : engine::OnChange::finish,
      .states = metadata.states->text};
  if (metadata.round_delay_s)
    stored.round_delay =
        std::clamp(std::chrono::seconds(*metadata.round_delay_s), kShortestDelay, kLongestDelay);
  if (metadata.module)
    stored.module = {metadata.module->repo, metadata.module->tag, metadata.module->commit};
  else if (store_.current())
    stored.module = store_.current()->module;
  // A recipe that would be gone after a restart is not accepted.
  if (auto kept = store_.accept(stored); !kept) return Problems{kept.error().message()};
  recipe_ = std::get<0>(std::move(recipe));
  engine::RunRecipe command = to_command(recipe_, stored);
  command.resume = false;
  command.replaces_same_version = true;
  return command;
}

base::Result<void> ActiveRecipe::move_version(std::int64_t version,
                                              const std::optional<protocol::ModuleSource>& module) {
  if (!store_.current()) return {};
  StoredRecipe moved = *store_.current();
  moved.version = version;
  if (module) moved.module = {module->repo, module->tag, module->commit};
  return store_.accept(std::move(moved));
}

bool ActiveRecipe::is_done(std::int64_t version, const std::string& id) const {
  return done_.contains({version, id}) || heard_before_.is_done(version, id);
}

std::vector<protocol::at_agent::OpenWait> ActiveRecipe::open_waits() const {
  std::vector<protocol::at_agent::OpenWait> open;
  if (!recipe_ || !store_.current()) return open;
  for (const recipe::State& state : recipe_->states())
    if (state.type->name() == kWaitModule && !is_done(store_.current()->version, std::string(state.id)))
      open.push_back({std::string(state.id), targets_of(state)});
  return open;
}

}  // namespace agent::runtime
