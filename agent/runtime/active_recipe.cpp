#include "agent/runtime/active_recipe.hpp"

#include <algorithm>

#include "agent/runtime/recipe_text.hpp"
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

// The first problem says most; a recipe may have hundreds.
std::vector<protocol::StateLog> results_of_refused(std::int64_t version, const Problems& problems,
                                                   const std::vector<std::string>& named) {
  constexpr std::size_t kMostProblems = 5;
  std::string why = "The recipe was refused, and none of its states run:";
  for (std::size_t i = 0; i < std::min(problems.size(), kMostProblems); ++i)
    why += "\n" + problems[i];
  if (problems.size() > kMostProblems)
    why += "\nand " + std::to_string(problems.size() - kMostProblems) + " more";
  std::vector<protocol::StateLog> results;
  for (const std::string& id : named)
    results.push_back({.recipe_version = version,
                       .id = id,
                       .state_result = false,
                       .state_comment = why,
                       .state_stdout = "",
                       .outcome = "failed"});
  return results;
}

// What could not be written holds all the same, until the next restart.
void note(const base::Result<void>& written, Problems& problems) {
  if (!written) problems.push_back(written.error().message());
}

std::string vars_of(const protocol::RecipeMetadata& metadata) {
  return metadata.vars ? metadata.vars->text : std::string();
}

// As for settings.
constexpr std::chrono::seconds kShortestDelay{1};
constexpr std::chrono::seconds kLongestDelay = std::chrono::days(30);

}  // namespace

ActiveRecipe::ActiveRecipe(const std::string& state_dir, RecipeTypes local)
    : local_(std::move(local)), store_(state_dir + "/recipe"), waits_(state_dir + "/waits"), types_(local_) {}

recipe::Inputs ActiveRecipe::inputs_of(const std::string& vars, const protocol::Tags& tags,
                                       bool compat_v1) const {
  recipe::Inputs inputs{.compat_v1 = compat_v1};
  if (!vars.empty()) inputs.vars.push_back({.origin = "the backend", .values = vars});
  inputs.tags = tags;
  if (machine_) machine_(inputs);
  return inputs;
}

ActiveRecipe::LoadedRecipe ActiveRecipe::load(const std::string& name, const std::string& states,
                                              const RecipeTypes& types, const recipe::Inputs& given) {
  auto text = compose_recipe(states);
  if (!text) return {.recipe = nullptr, .problems = {name + ": " + text.error().message()}};
  recipe::Inputs inputs = given;
  inputs.is_composed = text->files != nullptr;
  if (text->files) inputs.files = text->files;
  recipe::Loaded loaded = recipe::load_text(
      text->name, std::move(text->text), [&](const auto&) { return types.registry; }, inputs);
  LoadedRecipe read{.recipe = std::move(loaded.recipe), .named = std::move(loaded.named)};
  if (read.recipe) {
    // What cannot be reported must not run.
    for (const recipe::State& state : read.recipe->states()) {
      const std::string_view wrong = protocol::problem_of_id(state.id);
      if (wrong.empty())
        read.named.emplace_back(state.id);
      else
        read.problems.push_back(name + ": the id '" + std::string(state.id) + "' " + std::string(wrong));
    }
    if (!read.problems.empty()) read.recipe.reset();
  }
  for (const recipe::Problem& problem : loaded.problems)
    read.problems.push_back(recipe::describe(problem, name));
  if (inputs.compat_v1)
    for (const recipe::Problem& warning : loaded.warnings)
      read.warnings.push_back(recipe::describe(warning, name));
  std::erase_if(read.named, [](const std::string& id) { return !protocol::problem_of_id(id).empty(); });
  return read;
}

ActiveRecipe::LoadedRecipe ActiveRecipe::load_current(const RecipeTypes& types) const {
  return load("version " + std::to_string(current_->version), current_->states, types,
              inputs_of(current_->vars, current_->tags, current_->compat_v1));
}

RecipeDecision ActiveRecipe::start(const Open& open) {
  waits_.load();
  auto stored = store_.load();
  if (!stored) return {.problems = {stored.error().message()}};
  current_ = std::move(*stored);
  if (!current_) return {};
  RecipeDecision decision;
  // Agents that did not know modules have noted none: what they ran can run until the modules are there.
  if (!current_->module_commit.empty()) {
    auto types = open(*current_);
    if (!types) {
      decision.problems = {types.error().message()};
      return decision;
    }
    types_ = std::move(*types);
  }
  LoadedRecipe loaded = load_current(types_);
  if (!loaded.recipe) {
    decision.problems = std::move(loaded.problems);
    return decision;
  }
  recipe_ = std::move(loaded.recipe);
  decision.problems = std::move(loaded.warnings);
  note(waits_.forget_all_but(current_->version), decision.problems);
  std::string run_id = engine::new_run_id();
  progress_.resume(run_id);
  decision.command = to_command(std::move(run_id));
  return decision;
}

RecipeDecision ActiveRecipe::take(const protocol::RecipeMetadata& metadata) {
  recipe::ModuleSource source = source_of(metadata);
  // The one in force again: the backend has thought better of the one that waits.
  const bool is_back = waiting_ && recipe_ && current_->version == metadata.recipe_version &&
                       current_->states == metadata.states->text && current_->module == source &&
                       current_->vars == vars_of(metadata) && current_->tags == metadata.tags;
  if (is_back) {
    waiting_.reset();
    return {};
  }
  if (const RecipeTypes* types = types_with(source)) {
    waiting_.reset();
    return take_with(metadata, *types, source);
  }
  const bool is_repeated = waiting_ && waiting_->metadata == metadata && waiting_->source == source;
  if (!is_repeated) waiting_ = Waiting{.metadata = metadata, .source = std::move(source)};
  return {};
}

std::optional<recipe::ModuleSource> ActiveRecipe::wanted() const {
  if (waiting_) return waiting_->source;
  const bool is_missing =
      current_ && current_->module != recipe::ModuleSource() && types_.source != current_->module;
  return is_missing ? std::optional(current_->module) : std::nullopt;
}

recipe::ModuleSource ActiveRecipe::source_of(const protocol::RecipeMetadata& metadata) const {
  const recipe::ModuleSource last = current_ ? current_->module : recipe::ModuleSource();
  if (!metadata.module) return last;
  recipe::ModuleSource source{metadata.module->repo, metadata.module->tag, metadata.module->commit};
  if (source.repo.empty() && source.tag.empty()) return {};
  if (source.repo.empty()) source.repo = last.repo;
  if (source.tag.empty()) source.tag = last.tag;
  return source;
}

const RecipeTypes* ActiveRecipe::types_with(const recipe::ModuleSource& source) const {
  if (source == recipe::ModuleSource()) return &local_;
  return types_.source == source ? &types_ : nullptr;
}

std::optional<std::int64_t> ActiveRecipe::waiting_version() const {
  return waiting_ ? std::optional(waiting_->metadata.recipe_version) : std::nullopt;
}

RecipeDecision ActiveRecipe::modules_ready(const RecipeTypes& types) {
  if (waiting_ && waiting_->source == types.source) {
    const Waiting waiting = *std::exchange(waiting_, std::nullopt);
    return take_with(waiting.metadata, types, waiting.source);
  }
  if (!current_ || current_->module != types.source) return {};  // nobody wants them any more
  if (!recipe_ || types_.source != types.source || types_.commit != types.commit)
    return follow_modules(types);
  return {.statuses = progress_.set_errors(current_->version, {})};
}

// The recipe in force, as it is, with other modules.
RecipeDecision ActiveRecipe::follow_modules(const RecipeTypes& types) {
  LoadedRecipe loaded = load_current(types);
  if (!loaded.recipe) {
    RecipeDecision refused{.problems = loaded.problems};
    for (std::string& problem : loaded.problems)
      problem.insert(0, "with the modules of commit " + types.commit + ": ");
    refused.statuses = recipe_ ? progress_.set_errors(current_->version, std::move(loaded.problems))
                               : std::vector{Progress::reject(current_->version, std::move(loaded.problems))};
    return refused;
  }
  RecipeDecision decision{.problems = std::move(loaded.warnings)};
  const bool was_running = recipe_ != nullptr;
  recipe_ = std::move(loaded.recipe);
  types_ = types;
  current_->module_commit = types.commit;
  current_->module_signer = types.signer;
  note(store_.store(*current_), decision.problems);
  std::string run_id = engine::new_run_id();
  progress_.resume(run_id);
  engine::RunRecipe command = to_command(std::move(run_id));
  command.resume = !was_running;
  command.replaces_same_version = true;
  command.after_round = was_running;
  if (was_running) command.on_change = engine::OnChange::finish;  // nobody has sent another recipe
  decision.command = std::move(command);
  return decision;
}

RecipeDecision ActiveRecipe::fill_again() {
  if (!recipe_ || !recipe_->is_rendered()) return {};
  LoadedRecipe loaded = load_current(types_);
  if (!loaded.recipe) {
    if (loaded.problems == fill_problems_) return {};  // that has been said
    fill_problems_ = loaded.problems;
    return {.problems = loaded.problems,
            .statuses = progress_.set_errors(current_->version, std::move(loaded.problems))};
  }
  RecipeDecision decision;
  if (!std::exchange(fill_problems_, {}).empty())
    decision.statuses = progress_.set_errors(current_->version, {});
  if (recipe::same_states(*recipe_, *loaded.recipe)) return decision;
  recipe_ = std::move(loaded.recipe);
  std::string run_id = engine::new_run_id();
  progress_.resume(run_id);
  engine::RunRecipe command = to_command(std::move(run_id));
  command.resume = false;
  command.replaces_same_version = true;
  command.after_round = true;
  command.on_change = engine::OnChange::finish;  // nobody has sent another recipe
  decision.command = std::move(command);
  return decision;
}

RecipeDecision ActiveRecipe::modules_failed(const recipe::ModuleSource& source, const std::string& why,
                                            bool may_pass) {
  if (waiting_ && waiting_->source == source) {
    // Backends of version 1 name a repository in every recipe, and native states do not need it.
    if (waiting_->metadata.compat_v1) {
      const Waiting waiting = *std::exchange(waiting_, std::nullopt);
      RecipeDecision decision = take_with(waiting.metadata, local_, source);
      decision.problems.insert(decision.problems.begin(), "without the modules '" + source.tag + "' of " +
                                                              source.repo + ", which are not there: " + why);
      return decision;
    }
    const std::int64_t version = waiting_->metadata.recipe_version;
    protocol::RecipeStatus status = Progress::reject(version, {why});
    if (may_pass) status.status = protocol::RecipeProgress::accepted;
    return tell_waiting(std::move(status));
  }
  if (!current_ || current_->module != source) return {};
  if (recipe_) return {.statuses = progress_.set_errors(current_->version, {why})};
  return {.statuses = {Progress::reject(current_->version, {why})}};
}

RecipeDecision ActiveRecipe::modules_progress(const recipe::ModuleSource& source, const std::string& line,
                                              Progress::Instant now) {
  constexpr std::chrono::seconds kBetween{30};
  if (!waiting_ || waiting_->source != source) return {};
  // What went wrong last is not taken back by another attempt.
  if (waiting_->told && (!waiting_->told->errors.empty() || now - waiting_->told_at < kBetween)) return {};
  waiting_->told_at = now;
  return tell_waiting({.recipe_version = waiting_->metadata.recipe_version,
                       .status = protocol::RecipeProgress::accepted,
                       .progress = "fetching the modules '" + source.tag + "': " + line});
}

RecipeDecision ActiveRecipe::tell_waiting(protocol::RecipeStatus status) {
  if (waiting_->told == status) return {};
  waiting_->told = status;
  return {.statuses = {std::move(status)}};
}

RecipeDecision ActiveRecipe::take_with(const protocol::RecipeMetadata& metadata, const RecipeTypes& types,
                                       const recipe::ModuleSource& source) {
  const auto reject = [&](Problems problems, const std::vector<std::string>& named) -> RecipeDecision {
    RecipeDecision refused{.problems = problems};
    if (metadata.compat_v1) refused.results = results_of_refused(metadata.recipe_version, problems, named);
    refused.statuses = {Progress::reject(metadata.recipe_version, std::move(problems))};
    return refused;
  };
  LoadedRecipe loaded = load("version " + std::to_string(metadata.recipe_version), metadata.states->text,
                             types, inputs_of(vars_of(metadata), metadata.tags, metadata.compat_v1));
  if (!loaded.recipe) return reject(std::move(loaded.problems), loaded.named);
  StoredRecipe taken = to_stored(metadata);
  taken.module = source;
  taken.module_commit = types.commit;
  taken.module_signer = types.signer;
  // Its number may have been another recipe's, of a backend whose database was put back: what was done in
  // that one is gone before this one is there, whenever we are killed.
  if (auto forgotten = waits_.forget(taken.version); !forgotten)
    return reject({forgotten.error().message()}, loaded.named);
  // A recipe that would be gone after a restart is not accepted.
  if (auto stored = store_.store(taken); !stored) return reject({stored.error().message()}, loaded.named);
  const std::optional<std::int64_t> before = current_ ? std::optional(current_->version) : std::nullopt;
  current_ = std::move(taken);
  recipe_ = std::move(loaded.recipe);
  types_ = RecipeTypes(types);
  RecipeDecision decision{.problems = std::move(loaded.warnings)};
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
  protocol::RecipeMetadata as_recipe{
      .recipe_version = move.version, .module = move.module, .states = protocol::Json{current_->states}};
  // The same states with other modules are another recipe.
  if (source_of(as_recipe) != current_->module) {
    as_recipe.digest = move.digest.empty() ? current_->digest : move.digest;
    as_recipe.kill_on_change = current_->on_change == engine::OnChange::kill;
    if (current_->round_delay) as_recipe.round_delay_s = current_->round_delay->count();
    if (!current_->vars.empty()) as_recipe.vars = protocol::Json{current_->vars};
    as_recipe.tags = current_->tags;
    as_recipe.compat_v1 = current_->compat_v1;
    return take(as_recipe);
  }
  waiting_.reset();
  current_->version = move.version;
  if (!move.digest.empty()) current_->digest = move.digest;
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
  return {current_->version, current_->digest, open_waits(), waiting_.has_value()};
}

StoredRecipe ActiveRecipe::to_stored(const protocol::RecipeMetadata& metadata) const {
  StoredRecipe stored{
      .version = metadata.recipe_version,
      .digest = metadata.digest,
      .on_change = metadata.kill_on_change ? engine::OnChange::kill : engine::OnChange::finish,
      .states = metadata.states->text,
      .vars = vars_of(metadata),
      .tags = metadata.tags,
      .compat_v1 = metadata.compat_v1};
  if (metadata.round_delay_s)
    stored.round_delay =
        std::clamp(std::chrono::seconds(*metadata.round_delay_s), kShortestDelay, kLongestDelay);
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
    if (state.type->name() == builtins::kWaitModule && !state.is_off &&
        !waits_.waits().is_done(current_->version, std::string(state.key)))
      open.push_back({.id = std::string(state.id),
                      .targets = targets_of(state),
                      .key = state.key == state.id ? std::string() : std::string(state.key)});
  return open;
}

}  // namespace agent::runtime
