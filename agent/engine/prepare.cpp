#include "agent/engine/prepare.hpp"

#include <exception>
#include <utility>

namespace agent::engine {

namespace {

// Modules do not throw; what a library throws all the same is a failed state, not a dead worker.
template <class Answer, class Function>
Answer guarded(Function function, Answer (*failure)(std::string)) {
  try {
    return function();
  } catch (const std::exception& error) {
    return failure(std::string("Internal error: ") + error.what());
  } catch (...) {
    return failure(std::string("Internal error"));
  }
}

states::Plan plan_failure(std::string text) {
  return states::Plan::fail(std::move(text));
}

states::Applied apply_failure(std::string text) {
  return states::Applied::failed(std::move(text));
}

}  // namespace

Prepared prepare(const recipe::State& state, const states::Overlay& overlay, ManagedHost& machine,
                 WatchStore& watches, base::Interrupt& interrupt, bool condition_counts) {
  using Next = Prepared::Next;
  if (state.when && condition_counts) {
    ManagedHost::Condition condition = machine.check(*state.when, overlay);
    if (!condition.problem.empty())
      return {.next = Next::impossible, .problem = std::move(condition.problem)};
    if (condition.depends_on) return {.next = Next::wait, .depends_on = condition.depends_on->state_id};
    if (!condition.holds) return {.next = Next::skip};
  }
  if (auto refused = machine.refusal(*state.type))
    return {.next = Next::impossible, .problem = std::move(*refused)};
  if (!state.type->watches_files()) return {};
  auto watch =
      watches.evaluate(state.id, state.type->watch_request(*state.params), machine.tree(), interrupt);
  if (!watch)
    return {.next = watch.error().code() == base::ErrorCode::cancelled ? Next::cancelled : Next::impossible,
            .problem = watch.error().message()};
  // What an earlier state would put there is not missing.
  std::erase_if(watch->unseen, [&](const WatchState::Unseen& unseen) {
    const auto clean = base::clean_path(unseen.path);
    return !overlay.empty() && clean && overlay.provider(states::EffectKind::file, *clean);
  });
  return {.watch = std::move(*watch)};
}

std::chrono::seconds time_limit(const recipe::State& state) {
  if (state.timeout) return *state.timeout;
  return state.type->own_time_limit(*state.params).value_or(state.type->timeout());
}

StateSession::StateSession(Parts parts)
    : state_(parts.state),
      watch_(parts.watch),
      commands_(states::Commands::Clock::now() + time_limit(parts.state), parts.interrupt,
                std::move(parts.live), std::move(parts.before_program), parts.redactor),
      context_(parts.machine.context({.state_id = parts.state.id,
                                      .overlay = parts.overlay,
                                      .commands = commands_,
                                      .interrupt = parts.interrupt,
                                      .waits = parts.waits,
                                      .watch_triggered = parts.watch.triggered,
                                      .watch_changed = parts.watch.changed,
                                      .watch_reacted = parts.watch.reacted,
                                      .sensitive = parts.state.sensitive,
                                      .wants_diffs = parts.wants_diffs && !parts.state.sensitive,
                                      .plan_salt = parts.plan_salt,
                                      .redactor = parts.redactor})) {}

states::Plan StateSession::plan() {
  states::Plan plan =
      guarded<states::Plan>([&] { return state_.type->make_plan(*state_.params, context_); }, plan_failure);
  if (plan.verdict == states::Verdict::kept || plan.verdict == states::Verdict::change)
    for (const WatchState::Unseen& unseen : watch_.unseen)
      plan.message.append(plan.message.empty() ? "" : "; ")
          .append("watches " + unseen.path + ", which " + unseen.why);
  return plan;
}

states::Applied StateSession::apply(const states::Plan& made) {
  return guarded<states::Applied>([&] { return state_.type->apply_plan(*state_.params, made, context_); },
                                  apply_failure);
}

states::Plan StateSession::plan_again() {
  context_.watch_triggered = false;
  context_.watch_changed = {};
  context_.watch_reacted = {};
  context_.wants_diffs = false;
  context_.plan_salt = {};
  return plan();
}

}  // namespace agent::engine
