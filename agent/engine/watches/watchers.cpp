#include "agent/engine/watches/watchers.hpp"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace agent::engine {

// A path that is about to be written, and where it really is.
struct Watchers::Written {
  std::string path;
  std::string real;
  bool leads_elsewhere =
      false;  // what is below it is another thing afterwards: a link, or a folder that goes
};

namespace {

using base::Result;
using states::Effect;
using states::EffectKind;

bool is_below(std::string_view path, std::string_view folder) {
  if (folder == "/") return true;
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// Where a descriptor is, as seen from the root; "" if that cannot be said.
std::string place_of(int fd, const std::string& root) {
  std::array<char, PATH_MAX> buffer{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(link.c_str(), buffer.data(), buffer.size());
  if (length <= 0 || static_cast<std::size_t>(length) == buffer.size()) return {};
  const std::string_view place(buffer.data(), static_cast<std::size_t>(length));
  return is_below(place, root) ? std::string(place.substr(root.size())) : std::string();
}

std::string real_root(const std::string& root, base::Tree& tree) {
  if (root.empty()) return {};
  const auto folder = tree.follow("/");
  return folder ? place_of(folder->get(), {}) : root;
}

bool may_write_anything(const states::Plan& plan) {
  return std::ranges::any_of(plan.effects, [](const Effect& effect) {
    return effect.kind == EffectKind::anything || effect.kind == EffectKind::package;
  });
}

bool is_path(const Effect& effect) {
  return effect.kind == EffectKind::file || effect.kind == EffectKind::link ||
         effect.kind == EffectKind::directory;
}

}  // namespace

const std::vector<std::size_t>& Watchers::of(const recipe::Recipe& recipe) {
  if (recipe.digest() == digest_) return watching_;
  watching_.clear();
  for (std::size_t index = 0; index < recipe.states().size(); ++index)
    if (recipe.states()[index].params && recipe.states()[index].type->watches_files())
      watching_.push_back(index);
  digest_ = recipe.digest();
  return watching_;
}

const std::string& Watchers::real_path(std::string_view watched) {
  if (const auto known = real_.find(watched); known != real_.end()) return known->second;
  const auto end = machine_.tree().follow(watched);
  // What is missing has a place, too: where it would be put.
  const auto clean = base::clean_path(watched);
  std::string real = end     ? place_of(end->get(), real_root(machine_.host().root, machine_.tree()))
                     : clean ? machine_.tree().real_path(*clean)
                             : std::string();
  return real_.insert_or_assign(std::string(watched), std::move(real)).first->second;
}

bool Watchers::is_written(std::string_view watched, const std::vector<Written>& written) {
  const auto clean = base::clean_path(watched);
  const std::string_view path = clean ? std::string_view(*clean) : watched;
  const std::string& real = real_path(watched);
  return std::ranges::any_of(written, [&](const Written& one) {
    return is_below(one.path, path) || (one.leads_elsewhere && is_below(path, one.path)) ||
           (!real.empty() && !one.real.empty() &&
            (is_below(one.real, real) || (one.leads_elsewhere && is_below(real, one.real))));
  });
}

Result<void> Watchers::before_change(const recipe::Recipe& recipe, const RunRound& round,
                                     std::string_view writer, const states::Plan& plan,
                                     base::Interrupt& interrupt) {
  const std::vector<std::size_t>& watching = of(recipe);
  if (watching.empty()) return {};
  const bool anything = may_write_anything(plan);
  // Links and folders may lead elsewhere than before.
  const bool is_same_round = round.run_id == round_.run_id && round.round == round_.round;
  if (!is_same_round) real_.clear();
  round_ = round;

  std::vector<Written> written;
  const auto add = [&](const std::string& path, bool leads_elsewhere) {
    const base::SplitPath split = base::split_path(path);
    const auto folder = machine_.tree().follow(split.folder);
    std::string real;
    if (folder) real = place_of(folder->get(), real_root(machine_.host().root, machine_.tree()));
    if (!real.empty()) real = (real == "/" ? "" : real) + "/" + std::string(split.name);
    if (!folder) real = machine_.tree().real_path(path);  // a folder that is made, too
    written.push_back({path, std::move(real), leads_elsewhere});
  };
  for (const Effect& effect : plan.effects)
    // What a package may do to its files is in `anything`.
    if (is_path(effect) && effect.certain && !effect.attributes_only)
      add(effect.name,
          effect.kind == EffectKind::link || (effect.kind == EffectKind::directory && !effect.present));
  for (const std::string& path : plan.written)
    if (std::ranges::find(written, path, &Written::path) == written.end()) add(path, false);
  if (written.empty() && !anything) return {};

  for (const std::size_t index : watching) {
    const recipe::State& state = recipe.states()[index];
    if (state.key == writer) continue;
    const states::WatchRequest request = state.type->watch_request(*state.params);
    if (request.always) continue;
    auto marked =
        store_.mark(state.key, request, [&](std::string_view path) { return is_written(path, written); });
    if (!marked) return marked;
    if (!anything) continue;
    // What cannot be told here is said by the state itself, when it is reached.
    auto seen = store_.evaluate(state.key, request, machine_.tree(), interrupt);
    if (!seen) continue;
    if (auto begun = store_.begin(state.key, *seen); !begun) return begun;
  }
  if (anything || std::ranges::any_of(written, &Written::leads_elsewhere)) real_.clear();
  return {};
}

}  // namespace agent::engine
