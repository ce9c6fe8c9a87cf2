#include "agent/engine/execution/prepare.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

namespace agent::engine {

namespace {

// Whether not every round is one in which it runs.
bool is_paced(const recipe::State& state) {
  return state.control && (!state.control->once.empty() || !state.control->on_change_of.empty());
}

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

// What earlier states would do to watched files, while planning.
struct PlannedWatch {
  std::vector<std::string_view> others;           // the paths that they leave alone
  std::vector<std::string> changed{};             // the paths that would have other content
  std::string cause{};                            // id of the first of those states
  const states::Overlay::Entry* doubt = nullptr;  // who may change a path, or not
};

// A file that a run writes is a reason to act, whatever it holds afterwards (Watchers). Of all else that
// becomes of a watched path, only the run can tell.
PlannedWatch look_ahead(const states::WatchRequest& request, const states::Overlay& overlay,
                        base::Tree& tree) {
  PlannedWatch planned;
  for (const std::string_view path : request.paths) {
    const auto clean = base::clean_path(path);
    const std::string name = clean ? *clean : std::string(path);
    const states::Overlay::Entry* exact = overlay.path(tree.real_path(name));
    const bool is_written = exact && exact->effect.certain && exact->effect.present &&
                            exact->effect.kind == states::EffectKind::file && !exact->effect.attributes_only;
    if (is_written && request.first_counts) {
      planned.changed.emplace_back(path);
      if (planned.cause.empty()) planned.cause = exact->state_id;
      continue;
    }
    for (const std::string& each : {name, tree.real_path(name), tree.real_end(name)})
      if (const auto* entry = each.empty() ? nullptr : overlay.concerning(each)) planned.doubt = entry;
    overlay.take_doubt();
    (void)tree.follow(name);  // a link may lead to what is not there yet
    if (const auto* entry = overlay.take_doubt()) planned.doubt = entry;
    planned.others.push_back(path);
  }
  overlay.take_doubt();
  return planned;
}

// In the order of the request, as a run finds them.
void add_changed(WatchState& watch, const PlannedWatch& planned, const states::WatchRequest& request) {
  std::vector<std::string> all;
  for (const std::string_view path : request.paths)
    for (const std::vector<std::string>* changed : {&std::as_const(watch).changed, &planned.changed})
      if (std::ranges::find(*changed, path) != changed->end() && std::ranges::find(all, path) == all.end())
        all.emplace_back(path);
  watch.changed = std::move(all);
  watch.triggered = watch.triggered || !watch.changed.empty();
}

}  // namespace

Prepared prepare(const recipe::State& state, const states::Overlay& overlay, ManagedHost& machine,
                 WatchStore& watches, base::Interrupt& interrupt, bool condition_counts) {
  using Next = Prepared::Next;
  if (state.is_off) return {.next = Next::skip};
  if (state.when && condition_counts) {
    ManagedHost::Condition condition = machine.check(*state.when, overlay);
    if (!condition.problem.empty())
      return {.next = Next::impossible, .problem = std::move(condition.problem)};
    if (condition.depends_on)
      return {.next = Next::wait,
              .problem = "Its condition depends on what an earlier state does",
              .depends_on = condition.depends_on->state_id};
    if (!condition.holds) return {.next = Next::skip};
  }
  if (auto refused = machine.refusal(*state.type))
    return {.next = Next::impossible, .problem = std::move(*refused)};
  if (!state.type->watches_files()) return {};
  const states::WatchRequest request = state.type->watch_request(*state.params);
  const PlannedWatch planned =
      overlay.empty() || request.always ? PlannedWatch{} : look_ahead(request, overlay, machine.tree());
  if (planned.doubt)
    return {
        .next = Next::wait,
        .problem = "Whether it has to act depends on what an earlier state does to a file that it watches",
        .depends_on = planned.doubt->state_id};
  states::WatchRequest others = request;
  if (!planned.changed.empty()) others.paths = planned.others;
  auto watch = watches.evaluate(state.key, others, machine.tree(), interrupt);
  overlay.take_doubt();
  if (!watch)
    return {.next = watch.error().code() == base::ErrorCode::cancelled ? Next::cancelled : Next::impossible,
            .problem = watch.error().message()};
  // What an earlier state would put there is not missing.
  std::erase_if(watch->unseen, [&](const WatchState::Unseen& unseen) {
    const auto clean = base::clean_path(unseen.path);
    return !overlay.empty() && clean && overlay.provider(states::EffectKind::file, *clean);
  });
  add_changed(*watch, planned, request);
  return {.watch = std::move(*watch), .watch_cause = planned.cause};
}

std::chrono::seconds time_limit(const recipe::State& state) {
  if (state.timeout) return *state.timeout;
  if (state.is_off) return state.type->timeout();
  return state.type->own_time_limit(*state.params).value_or(state.type->timeout());
}

bool LimitedTime::requested() {
  if (other_.requested()) return true;
  is_over_ = is_over_ || std::chrono::steady_clock::now() >= end_;
  return is_over_;
}

std::string LimitedTime::timed_out(std::string_view what) const {
  return "Timed out after " + std::to_string(limit_.count()) + " s: " + std::string(what);
}

StateSession::StateSession(Parts parts)
    : state_(parts.state),
      time_(parts.interrupt, time_limit(parts.state)),
      tree_(parts.machine.tree()),
      watch_(parts.watch),
      commands_(states::Commands::Clock::now() + time_limit(parts.state), parts.interrupt,
                std::move(parts.live), std::move(parts.before_program), parts.redactor),
      context_(parts.machine.context({.state_id = parts.state.key,
                                      .overlay = parts.overlay,
                                      .commands = commands_,
                                      .interrupt = time_,
                                      .waits = parts.waits,
                                      .watch_triggered = parts.watch.triggered,
                                      .watch_changed = parts.watch.changed,
                                      .watch_reacted = parts.watch.reacted,
                                      .orders = parts.orders,
                                      .sensitive = parts.state.sensitive,
                                      .wants_diffs = parts.wants_diffs && !parts.state.sensitive,
                                      .plans_only = parts.plans_only,
                                      .plan_salt = parts.plan_salt,
                                      .redactor = parts.redactor,
                                      .is_paced = is_paced(parts.state),
                                      .recipe = parts.state.recipe})) {
  tree_.heed(&time_);
}

states::Plan StateSession::plan() {
  context_.accounts.take_problem();
  states::Plan plan =
      guarded<states::Plan>([&] { return state_.type->make_plan(*state_.params, context_); }, plan_failure);
  // Who is looked up in vain may be there all the same: nothing is decided by that.
  if (const auto problem = context_.accounts.take_problem()) return states::Plan::fail(*problem);
  if (plan.verdict == states::Verdict::kept || plan.verdict == states::Verdict::change)
    for (const WatchState::Unseen& unseen : watch_.unseen)
      plan.message.append(plan.message.empty() ? "" : "; ")
          .append("watches " + unseen.path + ", which " + unseen.why);
  return plan;
}

states::Applied StateSession::apply(const states::Plan& made) {
  states::Applied applied = guarded<states::Applied>(
      [&] { return state_.type->apply_plan(*state_.params, made, context_); }, apply_failure);
  if (const auto problem = context_.accounts.take_problem(); problem && !applied.ok())
    applied.comment += "; " + problem->message();
  return applied;
}

states::Plan StateSession::plan_again() {
  context_.watch_triggered = false;
  context_.watch_changed = {};
  context_.watch_reacted = {};
  context_.orders = nullptr;
  context_.wants_diffs = false;
  context_.plan_salt = {};
  return plan();
}

}  // namespace agent::engine
