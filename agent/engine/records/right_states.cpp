#include "agent/engine/records/right_states.hpp"

#include <algorithm>
#include <map>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/fnv.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"

namespace agent::engine {

namespace {

constexpr std::size_t kLargestFile = 64 * 1024 * 1024;

// The same for a state that asks for the same. Nothing that is secret goes into it.
std::string mark_of(const recipe::State& state) {
  const bool is_secret = state.sensitive || std::ranges::any_of(state.type->schema(), [](const auto& row) {
                           return row.is_secret;
                         });
  base::Fnv1a hash;
  hash.add(state.key).add(std::string_view("\0", 1)).add(state.type->name()).add(std::string_view("\0", 1));
  if (!is_secret) hash.add(base::to_json(state.parameter));
  return hash.hex();
}

}  // namespace

// The file: a line with the recipe's digest, then a line per state with its mark and "1", or "0".
void RightStates::adopt(const recipe::Recipe& recipe) {
  const std::vector<recipe::State>& states = recipe.states();
  right_.assign(states.size(), false);
  is_saved_ = true;
  const auto text = base::read_file(path_, kLargestFile);
  if (!text) return;
  auto lines = base::split(*text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (lines.empty()) return;
  const auto is_right = [](std::string_view line) { return line.ends_with(" 1"); };
  if (lines[0] == recipe.digest() && lines.size() == states.size() + 1) {
    for (std::size_t i = 0; i < states.size(); ++i)
      right_[i] = is_right(lines[i + 1]);
    return;
  }
  std::map<std::string_view, bool> known;
  for (std::size_t i = 1; i < lines.size(); ++i)
    if (const std::size_t space = lines[i].find(' '); space != std::string_view::npos)
      known[lines[i].substr(0, space)] = is_right(lines[i]);
  for (std::size_t i = 0; i < states.size(); ++i)
    if (const auto found = known.find(mark_of(states[i])); found != known.end()) right_[i] = found->second;
  is_saved_ = false;
}

void RightStates::set(std::size_t index, bool is_right) {
  if (right_[index] == is_right) return;
  right_[index] = is_right;
  is_saved_ = false;
}

base::Result<void> RightStates::save(const recipe::Recipe& recipe) {
  if (is_saved_) return {};
  std::string text = recipe.digest() + "\n";
  for (std::size_t i = 0; i < recipe.states().size(); ++i)
    text += mark_of(recipe.states()[i]) + (right_[i] ? " 1\n" : " 0\n");
  if (auto written = base::write_durable_file(path_, text); !written)
    return std::move(written).error().with_context("remembering which states were right");
  is_saved_ = true;
  return {};
}

}  // namespace agent::engine
