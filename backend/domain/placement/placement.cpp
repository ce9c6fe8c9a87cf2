#include "backend/domain/placement/placement.hpp"

#include "base/values/json.hpp"
#include "builtins/wait_targets.hpp"
#include "recipe/expressions.hpp"

namespace backend::domain {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

namespace {

Error invalid(std::string message) {
  return Error(ErrorCode::invalid, std::move(message));
}

Result<WaitTarget> to_target(const builtins::WaitTarget& given) {
  if (std::string wrong = builtins::problem_of_target(given); !wrong.empty())
    return invalid(std::move(wrong));
  WaitTarget target;
  target.state_id = given.state_id;
  target.instance_id = given.instance_id;
  if (!given.has_selector) return target;
  auto parsed = Selector::parse(given.selector);
  if (!parsed) return std::move(parsed).error().with_context("selector");
  if (parsed->uses_facts()) return invalid("the selector of a wait may use tags and instances, not facts");
  target.selector = std::make_shared<const Selector>(parsed->strict());
  return target;
}

Result<WaitState> read_wait(const Value& state, std::size_t index) {
  WaitState wait{index, {}};
  if (const Value* parameter = state.find("parameter"))
    for (const builtins::WaitTarget& given : builtins::read_wait_targets(*parameter)) {
      auto target = to_target(given);
      if (!target) return std::move(target).error();
      wait.targets.push_back(std::move(*target));
    }
  if (wait.targets.empty()) return invalid("it waits for nothing: its 'state' is empty");
  return wait;
}

Result<void> add_state(const Value& state, StateList& list) {
  list.ids.emplace_back(builtins::state_id_of(state));
  const Value* module = state.find("module");
  if (!module || module->text() != builtins::kWaitModule) return {};
  auto wait = read_wait(state, list.ids.size() - 1);
  if (!wait) return std::move(wait).error().with_context("wait state '" + list.ids.back() + "'");
  list.waits.push_back(std::move(*wait));
  return {};
}

}  // namespace

const WaitState* StateList::wait_at(std::size_t state) const {
  for (const WaitState& wait : waits)
    if (wait.index == state) return &wait;
  return nullptr;
}

Result<std::shared_ptr<const StateList>> read_states(std::string_view states_json) {
  base::Arena arena;
  const auto read = base::parse_json(states_json, arena);
  const auto* root = std::get_if<Value>(&read);
  if (!root || !root->is_list()) return invalid("the states are not a JSON list");
  auto list = std::make_shared<StateList>();
  for (const Value& item : root->items()) {
    // A whole recipe says beside its text which states it has.
    const Value* whole = item.find("content") ? item.find("states") : nullptr;
    list->has_computed = list->has_computed || whole;
    const std::span<const Value> states = whole ? whole->items() : std::span(&item, 1);
    for (const Value& state : states)
      if (auto added = add_state(state, *list); !added) return std::move(added).error();
  }
  for (std::size_t i = 0; i < list->ids.size(); ++i)  // `ids` does not move any more
    if (!list->index.emplace(list->ids[i], i).second && !recipe::has_expression(list->ids[i]))
      return invalid("the id '" + list->ids[i] + "' is used twice");
  return std::shared_ptr<const StateList>(std::move(list));
}

std::string concatenate_states(std::span<const std::string_view> lists) {
  std::string all = "[";
  for (const std::string_view list : lists) {
    const std::string_view inside = list.substr(1, list.size() - 2);
    if (inside.empty()) continue;
    if (all.size() > 1) all += ',';
    all += inside;
  }
  return all + "]";
}

}  // namespace backend::domain
