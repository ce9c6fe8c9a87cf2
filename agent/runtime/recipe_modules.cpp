#include "agent/runtime/recipe_modules.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/token.hpp"
#include "builtins/wait_targets.hpp"

namespace agent::runtime {

namespace {

using base::ErrorCode;

constexpr std::chrono::seconds kFirstRetry{5}, kLastRetry{600};
constexpr std::chrono::seconds kSoonestRefresh{30};
constexpr std::chrono::seconds kShortestPause{1};  // between questions, however short rounds are

// Nobody has said no: a server that cannot be reached, a disk that is full. Else waiting does not help, and
// somebody must do something.
bool may_pass(const base::Error& error) {
  const ErrorCode code = error.code();
  return code == ErrorCode::io || code == ErrorCode::timed_out || code == ErrorCode::no_space ||
         code == ErrorCode::read_only || code == ErrorCode::cancelled;
}

// Between half of it and all of it: a fleet does not come back at once.
std::chrono::milliseconds pause_after(unsigned failures) {
  std::chrono::milliseconds pause = kFirstRetry;
  for (unsigned i = 1; i < failures && pause < kLastRetry; ++i)
    pause *= 2;
  pause = std::min<std::chrono::milliseconds>(pause, kLastRetry);
  const auto random =
      static_cast<std::chrono::milliseconds::rep>(std::strtoul(base::random_hex(3).c_str(), nullptr, 16));
  return pause / 2 + std::chrono::milliseconds(random % (pause.count() / 2));
}

std::string name_of(const recipe::ModuleSource& source) {
  return "the modules '" + source.tag + "' of " + source.repo;
}

}  // namespace

RecipeTypes types_of(const modules::StateSources& sources) {
  RecipeTypes types{.registry = sources.registry()};
  if (const auto& fetched = sources.fetched()) {
    types.source = fetched->named;
    types.commit = fetched->commit;
    types.signer = fetched->signer;
  }
  return types;
}

RecipeModules::RecipeModules(Parts parts)
    : parts_(std::move(parts)),
      retry_(parts_.executor),
      during_wait_(parts_.executor),
      fetches_(parts_.settings, parts_.local) {}

base::Result<RecipeTypes> RecipeModules::open(const StoredRecipe& recipe) {
  const auto sources = modules::open_noted(
      parts_.settings, *parts_.local,
      {.named = recipe.module, .commit = recipe.module_commit, .signer = recipe.module_signer});
  if (!sources) return sources.error();
  in_use_ = *sources;
  return types_of(**sources);
}

bool RecipeModules::submit(const recipe::ModuleSource& source, bool must_ask,
                           std::function<void(modules::ModuleAnswer)> done) {
  const std::weak_ptr<bool> weak = alive_;
  const auto post = [executor = parts_.executor, weak](auto what) {
    transport::asio::post(executor, [weak, what = std::move(what)]() mutable {
      if (weak.lock()) what();
    });
  };
  return fetches_.submit(
      {.source = source,
       .must_ask = must_ask,
       .in_use = in_use_,
       .progress = [this, post,
                    source](const std::string& line) { post([this, source, line] { heard(source, line); }); },
       .done =
           [post, done = std::move(done)](modules::ModuleAnswer answer) {
             post([done, answer = std::move(answer)]() mutable { done(std::move(answer)); });
           }});
}

void RecipeModules::heard(const recipe::ModuleSource& source, const std::string& line) {
  log(Level::debug, name_of(source) + ": " + line);
  if (wanted_ != source) return;
  view_.progress = line;
  parts_.carry_out(parts_.recipe.modules_progress(source, line, std::chrono::system_clock::now()));
}

// ---- what a recipe needs

void RecipeModules::recipe_changed() {
  let_go_of_old_ones();
  const std::optional<recipe::ModuleSource> needed = parts_.recipe.wanted();
  const std::optional<std::int64_t> for_version = std::exchange(waiting_, parts_.recipe.waiting_version());
  if (needed == wanted_) {
    // Whoever sends another recipe for the same modules may have mended their repository.
    if (waiting_ != for_version && view_.next_attempt) {
      failures_ = 0;
      attempt();
    }
    return;
  }
  // What is not for this recipe goes no further, however slow its server is.
  fetches_.cancel_all();
  give_up_plans();
  retry_.cancel();
  ++turn_;
  is_refreshing_ = false;
  failures_ = 0;
  unfit_commit_.clear();
  wanted_ = needed;
  view_ = {.fetching = needed};
  if (wanted_) attempt();
}

void RecipeModules::attempt() {
  view_.next_attempt.reset();
  retry_.cancel();
  log(Level::info, "fetching " + name_of(*wanted_));
  const bool submitted = submit(*wanted_, fetches_.is_moving(wanted_->tag),
                                [this, turn = ++turn_](modules::ModuleAnswer answer) {
                                  if (turn == turn_ && wanted_) attempt_ended(std::move(answer));
                                });
  if (!submitted) attempt_failed({ErrorCode::cancelled, "too many fetches of modules are waiting"});
}

void RecipeModules::attempt_ended(modules::ModuleAnswer answer) {
  if (!answer.sources) return attempt_failed(answer.sources.error());
  if (!answer.warning.empty()) log(Level::warning, answer.warning);
  const modules::FetchedSource& fetched = *(*answer.sources)->fetched();
  log(Level::info, name_of(*wanted_) + " are at commit " + fetched.commit +
                       (fetched.signer.empty() ? "" : ", signed by " + fetched.signer));
  const recipe::ModuleSource source = *std::exchange(wanted_, std::nullopt);
  view_ = {};
  asked_ = Clock::now();
  has_asked_ = true;
  if (fetched.commit != unfit_commit_) ready(*answer.sources);
  // With them the recipe that waited may have been refused, and the one in force still lacks its own.
  const std::optional<recipe::ModuleSource> needed = parts_.recipe.wanted();
  if (wanted_ || needed != source) return recipe_changed();
  // They are there, and the recipe in force cannot be used with them. Another commit of a moving tag may do;
  // without a round nobody else asks for it.
  unfit_commit_ = fetched.commit;
  if (!fetches_.is_moving(source.tag)) return;
  wanted_ = view_.fetching = source;
  view_.problem = "the recipe cannot be used with the modules of commit " + fetched.commit;
  try_again_after(pause_after(++failures_));
}

void RecipeModules::attempt_failed(const base::Error& error) {
  const std::chrono::milliseconds pause = pause_after(++failures_);
  view_.problem = error.message();
  view_.progress.clear();
  log(Level::error, name_of(*wanted_) + " cannot be used: " + error.message() + "; next attempt in " +
                        std::to_string(std::chrono::ceil<std::chrono::seconds>(pause).count()) + " s");
  try_again_after(pause);
  parts_.carry_out(parts_.recipe.modules_failed(*wanted_, error.message(), may_pass(error)));
}

void RecipeModules::try_again_after(std::chrono::milliseconds pause) {
  view_.next_attempt = std::chrono::system_clock::now() + pause;
  retry_.expires_after(pause);
  retry_.async_wait([this, weak = std::weak_ptr(alive_), turn = turn_](const auto& cancelled) {
    if (!cancelled && weak.lock() && turn == turn_ && wanted_) attempt();
  });
}

void RecipeModules::ready(const Sources& sources) {
  const RecipeTypes types = types_of(*sources);
  RecipeDecision decision = parts_.recipe.modules_ready(types);
  if (parts_.recipe.types().commit == types.commit && parts_.recipe.types().source == types.source)
    in_use_ = sources;
  parts_.carry_out(std::move(decision));
}

// What the recipe in force does not use. To end their processes takes a while: not on this thread.
void RecipeModules::let_go_of_old_ones() {
  if (!in_use_) return;
  const RecipeTypes& types = parts_.recipe.types();
  const modules::FetchedSource& fetched = *in_use_->fetched();
  if (types.source == fetched.named && types.commit == fetched.commit) return;
  fetches_.let_go(std::exchange(in_use_, nullptr));
}

// ---- moving tags

void RecipeModules::on_worker_event(const engine::Event& event) {
  if (std::holds_alternative<engine::RoundStarted>(event)) refresh();
  if (const auto* started = std::get_if<engine::StateStarted>(&event);
      started && started->module == builtins::kWaitModule) {
    wait_ = started->id;
    refresh_during_wait();
  }
  const auto* result = std::get_if<engine::StateResult>(&event);
  const bool is_over =
      std::holds_alternative<engine::RoundEnd>(event) || (result != nullptr && result->id == wait_);
  if (!is_over) return;
  wait_.clear();
  during_wait_.cancel();
}

// It may be days before the next round starts: as often as rounds would.
void RecipeModules::refresh_during_wait() {
  during_wait_.expires_after(std::max<std::chrono::milliseconds>(parts_.round_delay, kShortestPause));
  during_wait_.async_wait([this, weak = std::weak_ptr(alive_)](const auto& cancelled) {
    if (cancelled || !weak.lock() || wait_.empty()) return;
    refresh();
    refresh_during_wait();
  });
}

void RecipeModules::refresh() {
  const recipe::ModuleSource source = parts_.recipe.types().source;
  // Whoever names the commit wants no other.
  if (wanted_ || is_refreshing_ || !source.commit.empty() || !fetches_.is_moving(source.tag)) return;
  if (has_asked_ &&
      Clock::now() - asked_ < std::min<std::chrono::milliseconds>(kSoonestRefresh, parts_.round_delay))
    return;
  is_refreshing_ = submit(source, true, [this, source, turn = ++turn_](modules::ModuleAnswer answer) {
    if (turn == turn_) refresh_ended(source, std::move(answer));
  });
  asked_ = Clock::now();
  has_asked_ = true;
}

void RecipeModules::refresh_ended(const recipe::ModuleSource& source, modules::ModuleAnswer answer) {
  is_refreshing_ = false;
  asked_ = Clock::now();
  std::string problem = answer.sources ? answer.warning : answer.sources.error().message();
  // Once, and not in every round.
  if (problem != refresh_problem_ && !problem.empty())
    log(Level::warning, name_of(source) + " were not brought up to date: " + problem);
  refresh_problem_ = std::move(problem);
  if (!answer.sources)
    return parts_.carry_out(parts_.recipe.modules_failed(source, answer.sources.error().message(),
                                                         may_pass(answer.sources.error())));
  const std::string before = parts_.recipe.types().commit;
  const std::string& now = (*answer.sources)->fetched()->commit;
  ready(*answer.sources);
  if (before != now && parts_.recipe.types().commit == now)
    log(Level::info, name_of(source) + " are at commit " + now + " from the next round on" +
                         (wait_.empty() ? "" : ", which begins now: this one waits for other machines"));
}

// ---- plans

bool RecipeModules::get(const recipe::ModuleSource& source, Ready ready) {
  const std::uint64_t number = ++plan_number_;
  plans_.push_back({.number = number, .ready = std::move(ready)});
  const bool submitted = submit(source, false, [this, number](modules::ModuleAnswer answer) {
    const auto plan = std::ranges::find(plans_, number, &Plan::number);
    if (plan == plans_.end()) return;
    const Ready tell = std::move(plan->ready);
    plans_.erase(plan);
    tell(answer.sources ? base::Result<RecipeTypes>(types_of(**answer.sources))
                        : base::Result<RecipeTypes>(answer.sources.error()));
  });
  if (!submitted) plans_.pop_back();
  return submitted;
}

void RecipeModules::give_up_plans() {
  for (Plan& plan : std::exchange(plans_, {}))
    plan.ready(base::Error(ErrorCode::cancelled, "the modules of a new recipe are fetched first: ask again"));
}

}  // namespace agent::runtime
