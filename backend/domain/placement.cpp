#include "backend/domain/placement.hpp"

#include "base/json.hpp"

namespace backend::domain {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

namespace {

Error invalid(std::string message) {
  return Error(ErrorCode::invalid, std::move(message));
}

std::string_view id_of(const Value& object) {
  for (const char* key : {"state_id", "id", "stateid"})
    if (const Value* id = object.find(key)) return id->text();
  return {};
}

// "instance/state", or an object with an instance or a selector.
Result<WaitTarget> read_target(const Value& value) {
  WaitTarget target;
  if (value.is_text()) {
    const std::string_view text = value.text();
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size())
      return invalid("'" + std::string(text) + "' is not \"<instance_id>/<state_id>\"");
    target.instance_id = text.substr(0, slash);
    target.state_id = text.substr(slash + 1);
    return target;
  }
  const Value* instance = value.find("instance_id");
  const Value* selector = value.find("selector");
  target.state_id = id_of(value);
  if (target.state_id.empty() || (instance == nullptr) == (selector == nullptr))
    return invalid("what is waited for has a 'state_id' and either an 'instance_id' or a 'selector'");
  if (instance) {
    target.instance_id = instance->text();
    if (target.instance_id.empty()) return invalid("an 'instance_id' must be a text");
    return target;
  }
  auto parsed = Selector::parse(selector->text());
  if (!parsed) return std::move(parsed).error().with_context("selector");
  if (parsed->uses_facts()) return invalid("the selector of a wait may use tags and instances, not facts");
  target.selector = std::make_shared<const Selector>(std::move(*parsed));
  return target;
}

Result<WaitState> read_wait(const Value& state, std::size_t index) {
  WaitState wait{index, {}};
  const Value* parameter = state.find("parameter");
  const Value* targets = parameter ? parameter->find("state") : nullptr;
  const auto add = [&](const Value& value) -> Result<void> {
    auto target = read_target(value);
    if (!target) return std::move(target).error();
    wait.targets.push_back(std::move(*target));
    return {};
  };
  Result<void> added;
  if (targets && !targets->is_list() && !targets->is_null()) added = add(*targets);
  if (targets)
    for (const Value& item : targets->items())
      if (added) added = add(item);
  if (!added) return std::move(added).error();
  if (wait.targets.empty()) return invalid("it waits for nothing: its 'state' is empty");
  return wait;
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
  for (const Value& state : root->items()) {
    list->ids.emplace_back(id_of(state));
    const Value* module = state.find("module");
    if (!module || module->text() != "meta.wait") continue;
    auto wait = read_wait(state, list->ids.size() - 1);
    if (!wait) return std::move(wait).error().with_context("wait state '" + list->ids.back() + "'");
    list->waits.push_back(std::move(*wait));
  }
  for (std::size_t i = 0; i < list->ids.size(); ++i)  // `ids` does not move any more
    if (!list->index.emplace(list->ids[i], i).second)
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
