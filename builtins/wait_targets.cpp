#include "builtins/wait_targets.hpp"

namespace builtins {

namespace {

using base::Value;

WaitTarget read_text_target(std::string_view text) {
  WaitTarget target{.text = text, .is_text = true};
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    target.state_id = text;
    return target;
  }
  target.has_instance = true;
  target.instance_id = text.substr(0, slash);
  target.state_id = text.substr(slash + 1);
  return target;
}

WaitTarget read_wait_target(const Value& value) {
  if (value.is_text()) return read_text_target(value.text());
  WaitTarget target;
  target.state_id = state_id_of(value);
  if (const Value* instance = value.find("instance_id")) {
    target.has_instance = true;
    target.instance_id = instance->text();
  }
  if (const Value* selector = value.find("selector")) {
    target.has_selector = true;
    target.selector = selector->text();
  }
  return target;
}

}  // namespace

std::string_view state_id_of(const Value& object) {
  for (const char* key : {"state_id", "id", "stateid"})
    if (const Value* id = object.find(key)) return id->text();
  return {};
}

std::vector<WaitTarget> read_wait_targets(const Value& parameter) {
  std::vector<WaitTarget> targets;
  const Value* waited = parameter.find("state");
  if (!waited || waited->is_null()) return targets;
  if (!waited->is_list()) return {read_wait_target(*waited)};
  for (const Value& each : waited->items())
    targets.push_back(read_wait_target(each));
  return targets;
}

std::string problem_of_target(const WaitTarget& target) {
  if (target.is_text) {
    if (!target.has_instance || target.instance_id.empty() || target.state_id.empty())
      return "'" + std::string(target.text) + "' is not \"<instance_id>/<state_id>\"";
    return {};
  }
  if (target.state_id.empty() || target.has_instance == target.has_selector)
    return "what is waited for has a 'state_id' and either an 'instance_id' or a 'selector'";
  if (target.has_instance && target.instance_id.empty()) return "an 'instance_id' must be a text";
  return {};
}

}  // namespace builtins
