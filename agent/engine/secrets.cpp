#include "agent/engine/secrets.hpp"

#include <algorithm>
#include <iterator>

namespace agent::engine {

namespace {

void add_texts(const base::Value& value, std::vector<std::string>& texts) {
  base::Arena arena;
  if (const auto line = value.as_line(arena)) texts.emplace_back(*line);  // a password may be a number
  for (const base::Value& item : value.items())
    add_texts(item, texts);
  for (const base::Member& member : value.members())
    if (member.key != "key") add_texts(member.value, texts);  // of a pair, the value is the secret
}

// In a sensitive state, what carries content: texts and the values of pairs. Names and paths stay readable.
bool carries_content(states::Wire wire) {
  return wire == states::Wire::text || wire == states::Wire::pairs;
}

}  // namespace

std::vector<std::string> secrets_of(const recipe::Recipe& recipe) {
  std::vector<std::string> secrets;
  for (const recipe::State& state : recipe.states()) {
    for (const states::Param& param : state.type->schema()) {
      if (!param.is_secret && !(state.sensitive && carries_content(param.wire))) continue;
      for (const base::Member& member : state.parameter.members())
        if (param.is_called(member.key)) add_texts(member.value, secrets);
    }
  }
  return secrets;
}

void follow_secrets(const recipe::Recipe* before, const recipe::Recipe& now, base::Redactor& redactor) {
  std::vector<std::string> secrets = secrets_of(now);
  if (before) std::ranges::move(secrets_of(*before), std::back_inserter(secrets));
  redactor.replace("recipe", std::move(secrets));
}

void hide(const recipe::State& state, const base::Redactor& redactor, std::vector<states::Change>& changes) {
  for (states::Change& change : changes) {
    if (state.sensitive) {
      change.before = change.after = "(sensitive)";
      change.diff.clear();
      continue;
    }
    for (std::string* text : {&change.what, &change.before, &change.after, &change.diff})
      if (redactor.is_needed(*text)) *text = redactor.redact(*text);
  }
}

std::string hide(const recipe::State& state, const base::Redactor& redactor, std::string output) {
  if (output.empty()) return output;
  if (state.sensitive) return "(sensitive output)";
  return redactor.is_needed(output) ? redactor.redact(output) : output;
}

}  // namespace agent::engine
