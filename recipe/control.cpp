#include "recipe/control.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/text.hpp"
#include "recipe/recipe.hpp"

namespace recipe {

namespace {

using base::Member;
using base::Value;

// Of a recipe: each may have to be remembered when a state changes something.
constexpr std::size_t kMostFollowed = 100'000;
constexpr std::size_t kMostCompared = 2'000'000;      // ids with patterns
constexpr std::size_t kMostCharacters = 200'000'000;  // of all these: characters that are looked at
constexpr std::size_t kMostSuggestions = 5;           // each looks at all ids
constexpr std::size_t kLongestKey = 256;
constexpr std::size_t kLongestName = 256;  // as ids

bool is_pattern(std::string_view text) {
  return text.find('*') != std::string_view::npos;
}

// '*' stands for any text; all else is itself. Beginnings that a pattern finds again and again make it look
// at every character many times, so `steps` counts them.
bool matches(std::string_view pattern, std::string_view text, std::size_t& steps) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, taken = 0;
  while (t < text.size()) {
    ++steps;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

std::string in_quotes(std::string_view text) {
  return "'" + std::string(text) + "'";
}

// For a pattern that matches nothing, by what is before its first '*'.
std::string nearest_pattern(std::string_view pattern, const std::vector<std::string_view>& ids) {
  const std::size_t star = pattern.find('*');
  if (star == 0) return {};
  std::vector<std::string_view> beginnings;
  for (const std::string_view id : ids)
    if (id.size() >= star) beginnings.push_back(id.substr(0, star));
  const auto close = base::nearest(pattern.substr(0, star), beginnings);
  if (!close) return {};
  return "; did you mean '" + std::string(*close) + std::string(pattern.substr(star)) + "'?";
}

}  // namespace

const Control::Places& Control::followed_by(Reaction reaction) const {
  return reaction == Reaction::run ? on_change_of : reaction == Reaction::restart ? restart_on : reload_on;
}

bool ControlReader::is_key(std::string_view key) {
  return std::ranges::find(kKeys, key) != kKeys.end();
}

std::vector<std::string_view> ControlReader::with_keys(std::span<const std::string_view> others) {
  std::vector<std::string_view> all(others.begin(), others.end());
  all.insert(all.end(), kKeys.begin(), kKeys.end());
  return all;
}

bool Recipe::continues_after_failures() const {
  return std::ranges::any_of(states_,
                             [](const State& state) { return state.control && state.control->continues; });
}

void ControlReader::read_default(const Value& value) {
  default_ = value.as_bool();
  if (!default_) problem("'continue_on_failure' must be true or false", value.offset(), {});
}

void ControlReader::begin_state(std::string_view id, std::optional<bool> continues, std::size_t part) {
  read_.push_back({.id = id, .of_file = continues, .part = part});
}

void ControlReader::read(const Member& member, base::Arena& arena) {
  Read& state = read_.back();
  // That a failure ends the round is so without saying.
  if (member.key != "continue_on_failure") state.has_any = true;
  if (member.key == "on_change_of") {
    state.on_change_of = read_names(member, arena);
  } else if (member.key == "restart_on") {
    state.restart_on = read_names(member, arena);
    state.restart_offset = member.offset;
  } else if (member.key == "reload_on") {
    state.reload_on = read_names(member, arena);
    state.reload_offset = member.offset;
  } else if (member.key == "require") {
    state.require = read_names(member, arena);
  } else if (member.key == "once") {
    read_once(member, arena);
  } else {
    state.continues = member.value.as_bool();
    if (!state.continues)
      problem("'continue_on_failure' must be true or false", member.value.offset(), state.id);
  }
}

void ControlReader::read_wire(const Value& value, base::Arena& arena) {
  if (!value.is_object()) return problem("'control' must be an object", value.offset(), read_.back().id);
  for (const Member& member : value.members()) {
    if (is_key(member.key))
      read(member, arena);
    else
      // It may say that the state is not to run.
      problem("Unknown key " + in_quotes(member.key) + " in 'control': the backend is newer than this agent",
              member.offset, read_.back().id);
  }
}

std::vector<ControlReader::Name> ControlReader::read_names(const Member& member, base::Arena& arena) {
  const std::string_view id = read_.back().id;
  std::vector<Name> names;
  const auto wrong = [&](std::uint32_t offset) {
    problem(
        in_quotes(member.key) + " must be a list of ids of earlier states, such as [vhost-*, certificate]",
        offset, id);
    return std::vector<Name>();
  };
  const auto add = [&](const Value& value) {
    const auto text = value.as_line(arena);
    if (!text || text->empty() || text->size() > kLongestName) return false;
    names.push_back({*text, value.offset()});
    return true;
  };
  if (!member.value.is_list()) {
    if (!add(member.value)) return wrong(member.value.offset());
    return names;
  }
  for (const Value& item : member.value.items())
    if (!add(item)) return wrong(item.offset());
  if (names.empty())
    problem(in_quotes(member.key) + " names no state: leave it out, or say which", member.value.offset(), id);
  return names;
}

void ControlReader::read_once(const Member& member, base::Arena& arena) {
  Read& state = read_.back();
  const auto key = member.value.as_line(arena);
  const bool is_printable =
      key && std::ranges::none_of(*key, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
  if (!key || key->empty() || key->size() > kLongestKey || !is_printable)
    return problem("'once' must be a key, such as v1: a text of at most 256 bytes", member.value.offset(),
                   state.id);
  state.once = *key;
}

void ControlReader::finish(std::vector<State>& states) {
  std::unordered_map<std::string_view, State*> by_id;
  for (State& state : states) {
    by_id[state.id] = &state;
    has_unknown_ids_ = has_unknown_ids_ || !state.has_known_id;
  }
  for (std::size_t place = 0; place < read_.size(); ++place)
    if (!read_[place].id.empty()) places_.emplace(read_[place].id, place);
  for (std::size_t place = 0; place < read_.size(); ++place) {
    const Read& read = read_[place];
    const bool continues = read.continues.value_or(read.of_file.value_or(default_.value_or(false)));
    if (!read.has_any && !continues) continue;
    if (found_ > kMostFollowed) break;
    auto control = std::make_shared<Control>();
    control->on_change_of = find(place, "on_change_of", read.on_change_of);
    control->restart_on = find(place, "restart_on", read.restart_on);
    control->reload_on = find(place, "reload_on", read.reload_on);
    control->require = find(place, "require", read.require);
    control->once = read.once;
    control->continues = continues;
    const auto state = by_id.find(read.id);
    if (state == by_id.end()) continue;
    check_orders(read, *state->second->type);
    state->second->control = std::move(control);
  }
  if (found_ > kMostFollowed)
    problem(
        "'on_change_of', 'restart_on', 'reload_on' and 'require' name more than 100000 states, all states "
        "of the recipe together: name a state behind them that has changed with them",
        0, {});
}

Control::Places ControlReader::find(std::size_t place, std::string_view key, const std::vector<Name>& names) {
  Control::Places found;
  for (const Name& name : names)
    if (is_pattern(name.text) && !places_.contains(name.text))
      find_pattern(place, key, name, found);
    else
      find_one(place, key, name, found);
  std::ranges::sort(found);
  const auto twice = std::ranges::unique(found);
  found.erase(twice.begin(), twice.end());
  found_ += found.size();
  return found;
}

void ControlReader::find_one(std::size_t place, std::string_view key, const Name& name,
                             Control::Places& found) {
  const auto named = places_.find(name.text);
  const std::string_view id = read_[place].id;
  const std::size_t at = named == places_.end() ? 0 : named->second;
  if (named == places_.end()) {
    if (has_unknown_ids_) return;
    std::vector<std::string_view> ids;
    if (++not_found_ <= kMostSuggestions)
      for (const auto& [each, where] : places_)
        if (each != id) ids.push_back(each);
    problem(in_quotes(key) + ": no state of this recipe has the id " + in_quotes(name.text) +
                base::did_you_mean(name.text, ids),
            name.offset, id);
  } else if (at == place) {
    problem(in_quotes(key) + ": a state cannot name itself", name.offset, id);
  } else if (at > place) {
    problem(in_quotes(key) + ": " + in_quotes(name.text) +
                " comes later in the recipe. States run in order, so what it does is not known when this one "
                "runs: put it before this one",
            name.offset, id);
  } else {
    found.push_back(at);
  }
}

// The state itself does not count, so that `nginx-*` can be the id's own beginning.
void ControlReader::find_pattern(std::size_t place, std::string_view key, const Name& name,
                                 Control::Places& found) {
  const std::string_view id = read_[place].id;
  std::vector<std::string_view> ids;
  bool has_match = false;
  compared_ += read_.size();
  if (compared_ > kMostCompared) {
    if (compared_ - read_.size() <= kMostCompared)
      problem(in_quotes(key) + ": the recipe has too many patterns for its number of states: name ids",
              name.offset, id);
    return;
  }
  for (std::size_t at = 0; at < read_.size(); ++at) {
    if (at == place || read_[at].id.empty() || read_[at].part != read_[place].part) continue;
    ids.push_back(read_[at].id);
    const bool is_match = matches(name.text, read_[at].id, steps_);
    if (steps_ > kMostCharacters) {
      compared_ = kMostCompared + read_.size();  // no more of them, and it is said once
      return problem(
          in_quotes(key) + ": the recipe's patterns take too long to compare with its ids: name ids",
          name.offset, id);
    }
    if (!is_match) continue;
    has_match = true;
    if (at > place)
      return problem(in_quotes(key) + ": " + in_quotes(name.text) + " matches " + in_quotes(read_[at].id) +
                         ", which comes later in the recipe. States run in order, so what it does is not "
                         "known when this one runs: put it before this one",
                     name.offset, id);
    found.push_back(at);
  }
  if (has_match || has_unknown_ids_) return;
  const std::string close = ++not_found_ <= kMostSuggestions ? nearest_pattern(name.text, ids) : "";
  problem(in_quotes(key) + ": no state of this recipe has an id that " + in_quotes(name.text) + " matches" +
              close,
          name.offset, id);
}

void ControlReader::check_orders(const Read& read, const states::StateType& type) {
  const states::TakesOrders takes = type.takes_orders();
  const std::string name(type.name());
  for (const auto& [key, names, offset] : {std::tuple("restart_on", &read.restart_on, read.restart_offset),
                                           std::tuple("reload_on", &read.reload_on, read.reload_offset)})
    if (!names->empty() && takes == states::TakesOrders::none)
      problem(in_quotes(key) + " is for services, and " + name +
                  " has none; 'on_change_of' runs a state only when another one has changed",
              offset, read.id);
  if (!read.reload_on.empty() && takes == states::TakesOrders::restart)
    problem("'reload_on': " + name + " cannot reload; use 'restart_on'", read.reload_offset, read.id);
}

Followers ControlReader::followers_of(const std::vector<State>& states) {
  Followers followers;
  for (std::size_t place = 0; place < states.size(); ++place) {
    if (!states[place].control) continue;
    for (const Reaction reaction : {Reaction::run, Reaction::restart, Reaction::reload})
      for (const std::size_t followed : states[place].control->followed_by(reaction)) {
        if (followers.empty()) followers.resize(states.size());
        followers[followed].push_back({place, reaction});
      }
  }
  return followers;
}

}  // namespace recipe
