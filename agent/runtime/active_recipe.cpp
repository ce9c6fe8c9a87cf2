#include "agent/runtime/active_recipe.hpp"

#include <algorithm>

#include "builtins/wait_targets.hpp"
#include "protocol/ids.hpp"

namespace agent::runtime {

namespace {

std::vector<protocol::StateRef> targets_of(const recipe::State& state) {
  std::vector<protocol::StateRef> targets;
  for (const builtins::WaitTarget& target : builtins::read_wait_targets(state.parameter))
    targets.push_back({std::string(target.instance_id), std::string(target.state_id)});
  return targets;
}

// What could not be written holds all the same, until the next restart.
void note(const base::Result<void>& written, Problems& problems) {
  if (!written) problems.push_back(written.error().message());
}

// As for settings.
constexpr std::chrono::seconds kShortestDelay{1};
constexpr std::chrono::seconds kLongestDelay = std::chrono::days(30);

}  // namespace

ActiveRecipe::ActiveRecipe(const std::string& state_dir, states::Registry registry)
    : registry_(std::move(registry)), store_(state_dir + "/recipe"), waits_(state_dir + "/waits") {}

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

RecipeDecision ActiveRecipe::start() {
  waits_.load();
  auto stored = store_.load();
  if (!stored) return {.problems = {stored.error().message()}};
  current_ = std::move(*stored);
  if (!current_) return {};
  auto loaded = load("version " + std::to_string(current_->version), current_->states);
  if (auto* problems = std::get_if<Problems>(&loaded)) return {.problems = std::move(*problems)};
  recipe_ = std::get<0>(std::move(loaded));
  RecipeDecision decision;
  note(waits_.forget_all_but(current_->version), decision.problems);
  std::string run_id = engine::new_run_id();
  progress_.resume(run_id);
  decision.command = to_command(std::move(run_id));
  return decision;
}

RecipeDecision ActiveRecipe::take(const protocol::RecipeMetadata& metadata) {
  const auto reject = [&](Problems problems) -> RecipeDecision {
    return {.problems = problems,
            .statuses = {Progress::reject(metadata.recipe_version, std::move(problems))}};
  };
  auto loaded = load("version " + std::to_string(metadata.recipe_version), metadata.states->text);
  if (auto* problems = std::get_if<Problems>(&loaded)) return reject(std::move(*problems));
  StoredRecipe taken = to_stored(metadata);
  // Its number may have been another recipe's, of a backend whose database was put back: what was done in
  // that one is gone before this one is there, whenever we are killed.
  if (auto forgotten = waits_.forget(taken.version); !forgotten) return reject({forgotten.error().message()});
  // A recipe that would be gone after a restart is not accepted.
  if (auto stored = store_.store(taken); !stored) return reject({stored.error().message()});
  const std::optional<std::int64_t> before = current_ ? std::optional(current_->version) : std::nullopt;
  current_ = std::move(taken);
  recipe_ = std::get<0>(std::move(loaded));
  RecipeDecision decision;
  note(waits_.forget_all(), decision.problems);
  std::string run_id = engine::new_run_id();
  decision.statuses = progress_.take(run_id, current_->version, before);
  engine::RunRecipe command = to_command(std::move(run_id));
  command.resume = false;
  command.replaces_same_version = true;
  decision.command = std::move(command);
  return decision;
}

RecipeDecision ActiveRecipe::move_version(const protocol::at_agent::MoveVersion& move) {
  if (!current_) return {};
  current_->version = move.version;
  if (!move.digest.empty()) current_->digest = move.digest;
  if (move.module) current_->module = {move.module->repo, move.module->tag, move.module->commit};
  RecipeDecision decision;
  note(waits_.forget_all(), decision.problems);
  note(store_.store(*current_), decision.problems);
  decision.statuses = progress_.move_to(move.version);
  decision.command = engine::MoveVersion{.version = move.version};
  return decision;
}

RecipeDecision ActiveRecipe::wait_done(std::int64_t version, const std::string& state_id) {
  RecipeDecision decision{.command = engine::WaitDone{version, state_id}};
  note(waits_.mark_done(version, state_id), decision.problems);
  return decision;
}

std::vector<protocol::RecipeStatus> ActiveRecipe::on_worker_event(const engine::Event& event,
                                                                  Progress::Instant now) {
  return progress_.on_worker_event(event, now, current_ ? std::optional(current_->version) : std::nullopt);
}

protocol::at_agent::RecipeInForce ActiveRecipe::in_force() const {
  if (!recipe_) return {};
  return {current_->version, current_->digest, open_waits()};
}

StoredRecipe ActiveRecipe::to_stored(const protocol::RecipeMetadata& metadata) const {
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
  else if (current_)
    stored.module = current_->module;
  return stored;
}

engine::RunRecipe ActiveRecipe::to_command(std::string run_id) const {
  engine::RunRecipe command{.recipe = recipe_,
                            .version = current_->version,
                            .run_id = std::move(run_id),
                            .on_change = current_->on_change,
                            .done_waits = waits_.waits().done_in(current_->version)};
  if (current_->round_delay) command.round_delay = *current_->round_delay;
  return command;
}

std::vector<protocol::at_agent::OpenWait> ActiveRecipe::open_waits() const {
  std::vector<protocol::at_agent::OpenWait> open;
  for (const recipe::State& state : recipe_->states())
    if (state.type->name() == builtins::kWaitModule && !waits_.waits().is_done(current_->version, state.id))
      open.push_back({std::string(state.id), targets_of(state)});
  return open;
}

}  // namespace agent::runtime
