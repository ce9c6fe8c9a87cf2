// What the worker is asked to do besides its recipe: plans, and single states.
#include "agent/engine/execution/planner.hpp"
#include "agent/engine/records/advice.hpp"
#include "agent/engine/secrets.hpp"
#include "agent/engine/worker/worker_loop.hpp"

namespace agent::engine {

void WorkerLoop::serve_ad_hoc_requests() {
  if (const auto delay = inbox_.take_round_delay()) default_delay_ = *delay;
  while (!inbox_.stops_before_next_state()) {
    const auto next = inbox_.take_ad_hoc();
    if (!next) return;
    std::visit([this](const auto& request) { serve(request); }, *next);
    inbox_.drain();
  }
}

void WorkerLoop::serve(const PlanRecipe& request) {
  for (std::string& warning : follow_secrets("plan", *request.recipe, redactor_))
    notice(Notice::Level::warning, std::move(warning));
  inbox_.begin_run(request.request);  // a new recipe that waits does not end it
  PlanResult planned = plan_recipe(*request.recipe, settings_.host, redactor_, inbox_,
                                   {.state_dir = settings_.state_dir,
                                    .done_waits = waits_.done_in(request.version),
                                    .has_backend = settings_.has_backend});
  inbox_.end_run();
  planned.request = request.request;
  planned.version = request.version;
  committer_.submit(std::move(planned));
}

void WorkerLoop::serve(const RunState& request) {
  for (std::string& warning : follow_secrets("run", *request.recipe, redactor_))
    notice(Notice::Level::warning, std::move(warning));
  inbox_.begin_run(request.run_id);
  const std::uint64_t failed_syncs = committer_.failed_syncs();
  StateResult result = run_ad_hoc(request);
  inbox_.end_run();
  // Whatever it changed, the recipe's states must not rely on what they saw before.
  machine_.invalidate_caches();
  if (settings_.reports) answered_.insert(report_key(journalled_in(result), result.index));
  committer_.submit(std::move(result), failed_syncs);
  if (in_round_) return;
  // Where there is no recipe there is no round whose end would do it.
  let_go_of_journal();
  lock_.release();
}

StateResult WorkerLoop::run_ad_hoc(const RunState& request) {
  const recipe::State& state = request.recipe->states().front();
  const auto ended = [&](Outcome outcome, std::string comment) {
    return StateResult{.id = std::string(state.id),
                       .module = std::string(state.type->name()),
                       .run_id = request.run_id,
                       .version = 0,
                       .round = 1,
                       .outcome = outcome,
                       .comment = std::move(comment),
                       .started = std::chrono::system_clock::now()};
  };
  if (request.is_cancelled) return ended(Outcome::cancelled, "Cancelled before it started");
  if (!in_round_) {
    auto locked = lock_.acquire(inbox_, {});
    // What a killed run has left comes before anything is written, as in a round.
    if (locked) locked = take_over();
    if (!locked) {
      lock_.release();
      return inbox_.requested() ? ended(Outcome::cancelled, locked.error().message())
                                : ended(Outcome::failed, with_advice(locked.error(), settings_.state_dir));
    }
    machine_.new_round();
  }
  const RunRound place{.run_id = request.run_id, .round = 1};
  StateResult result = executor_.execute(
      {.recipe = *request.recipe, .state = state, .place = place, .version = 0, .in_force = recipe_.get()});
  settle_written(result);
  return result;
}

}  // namespace agent::engine
