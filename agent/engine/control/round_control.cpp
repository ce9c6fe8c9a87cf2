#include "agent/engine/control/round_control.hpp"

#include <algorithm>
#include <unordered_set>

namespace agent::engine {

namespace {

using recipe::Reaction;

bool is_failure(Became became) {
  return became == Became::failed || became == Became::blocked;
}

const recipe::Control kNoControl;

}  // namespace

const recipe::Control& control_of(const recipe::State& state) {
  return state.control ? *state.control : kNoControl;
}

std::string quoted_list(const std::vector<std::string>& ids) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(ids.size(), kShown); ++i)
    text += (i == 0 ? "'" : ", '") + ids[i] + "'";
  if (ids.size() > kShown) text += " and " + std::to_string(ids.size() - kShown) + " more";
  return text;
}

std::vector<std::string> parts_of(const recipe::State& state) {
  if (state.is_off) return {""};
  const states::WatchRequest request = state.type->watch_request(*state.params);
  std::vector<std::string> parts(request.parts.begin(), request.parts.end());
  if (parts.empty()) parts.emplace_back();
  return parts;
}

void RoundControl::begin(const recipe::Recipe& recipe, const std::string& root) {
  recipe_ = &recipe;
  root_ = root;
  became_.assign(recipe.states().size(), Became::nothing);
  to_blame_.assign(recipe.states().size(), 0);
}

void RoundControl::note(std::size_t place, Became became) {
  became_[place] = became;
  if (became == Became::failed) to_blame_[place] = place;
}

Gate RoundControl::gate(std::size_t place) {
  Gate gate;
  const recipe::State& state = recipe_->states()[place];
  // What is due is due, also when the recipe does not ask for it any more.
  if (!state.control && !due_.has_any(root_, state.id)) return gate;
  if (is_blocked(place, gate) || is_done_once(place, gate) || is_held_back(place, gate)) return gate;
  (void)has_unknown_orders(place, gate);
  return gate;
}

bool RoundControl::is_blocked(std::size_t place, Gate& gate) {
  for (const std::size_t required : control_of(recipe_->states()[place]).require) {
    if (!is_failure(became_[required])) continue;
    const std::string failed = is_plan_ ? " cannot work" : " failed";
    to_blame_[place] = to_blame_[required];
    gate.way = Gate::Way::skip;
    gate.is_blocked = true;
    gate.why = "Skipped: requires '" + std::string(id_of(required)) + "', which";
    gate.why += became_[required] == Became::failed
                    ? failed
                    : std::string(is_plan_ ? " is not run" : " was not run") + ", because '" +
                          std::string(id_of(to_blame_[required])) + "'" + failed;
    return true;
  }
  return false;
}

bool RoundControl::is_done_once(std::size_t place, Gate& gate) {
  const recipe::State& state = recipe_->states()[place];
  const std::string_view key = control_of(state).once;
  if (key.empty()) return false;
  auto done = once_.find(root_, state.id, key);
  if (!done) {
    gate.problem = done.error().message();
    return true;
  }
  if (!*done) {
    auto room = once_.has_room();
    if (room && !is_plan_) room = once_.has_disk();
    if (!room) gate.problem = room.error().message();
    return gate.problem.has_value();
  }
  gate.way = Gate::Way::skip;
  gate.why = "Skipped: " + once_text(**done);
  gate.done = std::move(**done);
  return true;
}

// In the order of the recipe. What is due for a state that is not followed any more comes last.
RoundControl::Cause RoundControl::cause_of(std::size_t place, Reaction reaction) const {
  const recipe::State& state = recipe_->states()[place];
  Cause cause;
  std::unordered_set<std::string_view> named;
  for (const std::size_t followed : control_of(state).followed_by(reaction)) {
    const std::string_view id = id_of(followed);
    named.insert(id);
    const DueReactions::Status status = due_.status(root_, state.id, reaction, id);
    // In a run that has been noted, and whoever has followed it already, before a kill, is not asked again.
    const bool is_new =
        is_plan_ && (became_[followed] == Became::changed ||
                     (status == DueReactions::Status::begun && became_[followed] == Became::kept));
    cause.is_new = cause.is_new || is_new;
    if (status == DueReactions::Status::due || is_new)
      cause.ids.emplace_back(id);
    else if (became_[followed] == Became::unknown && cause.unknown.empty())
      cause.unknown = id;
  }
  for (DueReactions::Followed& followed : due_.all(root_, state.id, reaction))
    if (!named.contains(followed.id)) cause.ids.push_back(std::move(followed.id));
  return cause;
}

bool RoundControl::is_held_back(std::size_t place, Gate& gate) const {
  const recipe::Control& control = control_of(recipe_->states()[place]);
  if (control.on_change_of.empty()) return false;
  Cause cause = cause_of(place, Reaction::run);
  if (!cause.ids.empty()) {
    gate.why = "because " + quoted_list(cause.ids) + (is_plan_ ? " changes" : " changed");
    return false;
  }
  if (!cause.unknown.empty()) {
    gate.way = Gate::Way::wait;
    gate.depends_on = std::move(cause.unknown);
    gate.why = "It runs only if a state that it follows changes, which is not known yet";
    return true;
  }
  std::vector<std::string> followed;
  for (const std::size_t each : control.on_change_of)
    followed.emplace_back(id_of(each));
  gate.way = Gate::Way::skip;
  gate.why = "Skipped: nothing was changed by " + quoted_list(followed);
  if (is_plan_) gate.why = "Skipped: nothing would be changed by " + quoted_list(followed);
  return true;
}

// Which of them changes is said in what a service is going to do, so all of it must be known.
bool RoundControl::has_unknown_orders(std::size_t place, Gate& gate) const {
  const recipe::State& state = recipe_->states()[place];
  if (state.type->takes_orders() == states::TakesOrders::none) return false;
  Cause restart = cause_of(place, Reaction::restart);
  Cause reload = cause_of(place, Reaction::reload);
  for (std::string* unknown : {&restart.unknown, &reload.unknown}) {
    if (unknown->empty()) continue;
    gate.way = Gate::Way::wait;
    gate.depends_on = std::move(*unknown);
    gate.why = "Whether its services restart or reload depends on what an earlier state changes";
    return true;
  }
  gate.orders = {.restart_for = std::move(restart.ids), .reload_for = std::move(reload.ids)};
  if (gate.orders.empty()) return false;
  const std::vector<std::string> parts = parts_of(state);
  if (!gate.orders.restart_for.empty() && !restart.is_new)
    gate.orders.restarted = due_.done_parts(root_, state.id, Reaction::restart, parts);
  if (!gate.orders.reload_for.empty() && !reload.is_new)
    gate.orders.reloaded = due_.done_parts(root_, state.id, Reaction::reload, parts);
  return false;
}

}  // namespace agent::engine
