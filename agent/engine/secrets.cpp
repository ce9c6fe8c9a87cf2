#include "agent/engine/secrets.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <memory>

#include "base/text.hpp"
#include "builtins/builtins.hpp"
#include "states/state.hpp"

namespace agent::engine {

namespace {

using Texts = std::vector<std::string_view>;

bool is_secret(const states::Param& param, const recipe::State& state) {
  if (param.is_secret) return true;
  if (!state.sensitive || param.names_things) return false;
  return param.wire == states::Wire::text || param.wire == states::Wire::list ||
         param.wire == states::Wire::pairs;
}

void add_leaves(const base::Value& value, base::Arena& arena, Texts& texts) {
  if (const auto line = value.as_line(arena)) texts.push_back(*line);  // a password may be a number
  for (const base::Value& item : value.items())
    add_leaves(item, arena, texts);
  for (const base::Member& member : value.members())
    add_leaves(member.value, arena, texts);
}

// Of pairs the values, as the module's own reader sees them: "A=1 B=2", {A: 1}, [{key: A, value: 1}].
void add_pairs(const states::Param& param, const base::Value& value, base::Arena& arena, Texts& texts) {
  states::Pairs pairs;
  if (!states::read_field(pairs, param, value, arena)) return add_leaves(value, arena, texts);
  for (const states::Pair& pair : pairs) {
    // ["A=1"] is a name without a value to the reader, but no name to whoever wrote it.
    const std::size_t equals = pair.key.find('=');
    if (equals != std::string_view::npos) texts.push_back(pair.key.substr(equals + 1));
    if (!pair.value.empty()) texts.push_back(pair.value);
  }
}

void add_values(const states::Param& param, const base::Value& value, base::Arena& arena, Texts& texts) {
  if (param.wire == states::Wire::pairs) return add_pairs(param, value, arena, texts);
  add_leaves(value, arena, texts);
  if (!value.is_list() || !param.joins_lists) return;
  std::string_view joined;
  if (states::read_field(joined, param, value, arena)) texts.push_back(joined);
}

// The secret values of a state, in the recipe and in `arena`.
Texts secrets_of(const recipe::State& state, base::Arena& arena) {
  Texts texts;
  for (const states::Param& param : state.type->schema()) {
    if (!is_secret(param, state)) continue;
    for (const base::Member& member : state.parameter.members())
      if (param.is_called(member.key)) add_values(param, member.value, arena, texts);
  }
  return texts;
}

// How a value looks in a text that has all blanks made one.
std::string squeezed(std::string_view text) {
  std::string words;
  for (const std::string_view word : base::split_words(text))
    words.append(words.empty() ? "" : " ").append(word);
  return words;
}

void add_words(std::string_view text, base::Redactor::Words& words) {
  std::string word;
  const auto end_word = [&] {
    if (word.size() >= base::Redactor::kShortest) words.insert(word);
    word.clear();
  };
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalpha(byte) != 0 || (c == '_' && !word.empty()))
      word += static_cast<char>(std::tolower(byte));
    else
      end_word();
  }
  end_word();
}

// The words that the agent itself uses, in what it says of states and in what it prints for programs.
std::shared_ptr<const base::Redactor::Words> make_vocabulary() {
  auto words = std::make_shared<base::Redactor::Words>();
  constexpr std::array<std::string_view, 8> kTexts{
      // Values that stand for something else than themselves.
      "true false null none yes off enabled disabled default auto always never root nobody admin user "
      "localhost",
      // What outcomes and verdicts are called, and what is said about them.
      "kept changed failed skipped cancelled timed out unknown change fail error warning info debug notice",
      "command succeeded failed exit signal service started stopped restarted reloaded running active "
      "inactive "
      "created removed updated installed already present absent missing exists file folder directory link "
      "job "
      "added content owner group mode password package version latest purged",
      // Names of events and of their fields (agent/cli/output/event_json.cpp).
      "event round_started state_started state_output state_result round_end plan notice stopped version "
      "round "
      "first states index message stream stdout stderr data outcome comment output changes what before after "
      "diff attempt resumed blocked exit_code truncated started duration_us cpu_us max_rss_kb counts "
      "not_reached "
      "drift "
      "next_ms recipe digest verdict depends_on level text state result",
      "problems warnings line column name module parameter sensitive timeout retries when path_exists "
      "path_absent host agent backend test this that with from",
      "Skipped its condition does not hold Did not converge is still wanted The machine is not as it was "
      "when "
      "the plan was made Plan again",
      "Skipped nothing was changed by would be requires which failed cannot work not run because done once "
      "on",
      "on_change_of restart_on reload_on require once continue_on_failure control"};
  for (const std::string_view text : kTexts)
    add_words(text, *words);
  for (const auto& entries : {states::native_states(), builtins::builtin_states()})
    for (const states::RegistryEntry& entry : entries) {
      add_words(entry.type->name(), *words);
      add_words(entry.type->summary(), *words);
      for (const std::string_view alias : entry.type->aliases())
        add_words(alias, *words);
      for (const states::Param& param : entry.type->schema())
        for (const std::string_view text :
             {param.name, param.doc, param.fallback_text, param.aliases[0], param.aliases[1]})
          add_words(text, *words);
    }
  return words;
}

std::shared_ptr<const base::Redactor::Words> vocabulary() {
  static const std::shared_ptr<const base::Redactor::Words> kWords = make_vocabulary();
  return kWords;
}

// What is on or off, or nothing at all, is nobody's secret, though it stands in a sensitive state.
bool is_plain_setting(std::string_view value) {
  const std::string_view text = base::trim(value);
  return text.empty() || base::Value::string(text).as_bool().has_value();
}

std::vector<std::string> warnings_for(const recipe::Recipe& recipe, const base::Redactor& redactor) {
  std::vector<std::string> warnings;
  for (const recipe::State& state : recipe.states()) {
    base::Arena arena;
    const bool is_weak = std::ranges::any_of(secrets_of(state, arena), [&](std::string_view value) {
      return !redactor.can_hide(value) && !(state.sensitive && is_plain_setting(value));
    });
    if (is_weak)
      warnings.push_back("[" + std::string(state.id) +
                         "] a secret of this state is a common word, or shorter than " +
                         std::to_string(base::Redactor::kShortest) +
                         " bytes (a number: " + std::to_string(base::Redactor::kShortestNumber) +
                         " digits): it is hidden in what this state says, but not in the output of others");
  }
  return warnings;
}

std::vector<std::string> follow(std::string_view owner, std::vector<std::string> secrets,
                                const recipe::Recipe& now, base::Redactor& redactor) {
  if (!secrets.empty()) redactor.keep_readable(vocabulary());
  redactor.replace(owner, std::move(secrets));
  return warnings_for(now, redactor);
}

bool is_part_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Where `word` stands by itself.
void hide_word(std::string_view word, std::string& text) {
  constexpr std::string_view kHidden = "***";
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos;) {
    const std::size_t end = at + word.size();
    const bool is_inside = (at > 0 && is_part_of_word(text[at - 1]) && is_part_of_word(word.front())) ||
                           (end < text.size() && is_part_of_word(text[end]) && is_part_of_word(word.back()));
    if (is_inside) {
      ++at;
      continue;
    }
    text.replace(at, word.size(), kHidden);
    at += kHidden.size();
  }
}

// In its own state a secret is hidden that is too common to be searched for elsewhere.
void hide_common(const recipe::State& state, const base::Redactor& redactor, std::string& text) {
  if (text.empty()) return;
  const states::Schema& schema = state.type->schema();
  if (std::ranges::none_of(schema, [&](const states::Param& param) { return is_secret(param, state); }))
    return;
  base::Arena arena;
  for (const std::string_view value : secrets_of(state, arena)) {
    if (redactor.can_hide(value) || (state.sensitive && is_plain_setting(value))) continue;
    if (const std::string_view word = base::trim(value); !word.empty()) hide_word(word, text);
  }
}

}  // namespace

std::vector<std::string> secrets_of(const recipe::Recipe& recipe) {
  std::vector<std::string> secrets = recipe.secrets();
  for (const recipe::State& state : recipe.states()) {
    base::Arena arena;
    for (const std::string_view value : secrets_of(state, arena)) {
      secrets.emplace_back(value);
      if (state.sensitive)
        if (std::string words = squeezed(value); words != base::trim(value))
          secrets.push_back(std::move(words));
    }
  }
  return secrets;
}

std::vector<std::string> follow_secrets(const recipe::Recipe* before, const recipe::Recipe& now,
                                        base::Redactor& redactor) {
  std::vector<std::string> secrets = secrets_of(now);
  if (before) std::ranges::move(secrets_of(*before), std::back_inserter(secrets));
  return follow("recipe", std::move(secrets), now, redactor);
}

std::vector<std::string> follow_secrets(std::string_view owner, const recipe::Recipe& now,
                                        base::Redactor& redactor) {
  return follow(owner, secrets_of(now), now, redactor);
}

void hide(const recipe::State& state, const base::Redactor& redactor, std::vector<states::Change>& changes) {
  for (states::Change& change : changes) {
    change.what = hide_in_text(state, redactor, std::move(change.what));
    if (state.sensitive) {
      change.before = change.after = "(sensitive)";
      change.diff.clear();
      continue;
    }
    for (std::string* text : {&change.before, &change.after, &change.diff})
      *text = hide_in_text(state, redactor, std::move(*text));
  }
}

std::string hide(const recipe::State& state, const base::Redactor& redactor, std::string output) {
  if (output.empty()) return output;
  if (state.sensitive) return "(sensitive output)";
  return hide_in_text(state, redactor, std::move(output));
}

std::string hide_in_text(const recipe::State& state, const base::Redactor& redactor, std::string text) {
  if (redactor.is_needed(text)) text = redactor.redact(text);
  hide_common(state, redactor, text);
  return text;
}

}  // namespace agent::engine
