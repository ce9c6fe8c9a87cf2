#include "states/linux_cmd/path_guards.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "states/linux_cmd/paths.hpp"

namespace states::linux_cmd {

namespace {

base::Result<bool> exists(std::string_view path, std::optional<uid_t> whose, Context& context) {
  if (const Overlay::Entry* planned = planned_at(path, context)) return planned->effect.present;
  auto found = found_at(path, whose, context);
  if (!found) return std::move(found).error();
  return found->has_value();
}

// Who may make something else of a path of a guard than there is now.
const Overlay::Entry* who_may_change(std::string_view path, bool is_there, const Context& context) {
  const Overlay& overlay = context.overlay;
  if (overlay.empty() || planned_at(path, context)) return nullptr;
  const Overlay::Entry* who =
      is_there ? overlay.command_naming(path) : overlay.provider(EffectKind::file, path);
  overlay.take_doubt();
  return who;
}

// What cannot be told of a path, or of several: who decides it, or why not at all.
struct Open {
  const Overlay::Entry* who = nullptr;
  std::string text{};
  std::optional<Plan> problem{};

  bool any() const { return who || problem; }
  void add(Open other) {
    if (other.who) {
      if (!who) text = std::move(other.text);
      who = other.who;
    }
    if (other.problem) problem = std::move(other.problem);
  }
};

class PathGuards {
 public:
  PathGuards(std::optional<uid_t> whose, Context& context) : whose_(whose), context_(context) {
    open_.who = context.overlay.take_doubt();
    if (open_.who) open_.text = "It depends on what an earlier state does";
  }

  // A condition: every path must be there, or none may be.
  std::optional<Plan> each(std::string_view guard, List paths, bool wanted) {
    for (const std::string_view path : paths) {
      Open open;
      const auto is_there = look(guard, path, open);
      open_.add(std::move(open));
      if (!is_there || *is_there == wanted) continue;
      Plan held = Plan::kept("Skipped: " + std::string(path) + (*is_there ? " exists" : " is missing"));
      held.is_held_back = true;
      return held;
    }
    return std::nullopt;
  }

  // A goal: it is reached when every path is there, or none is.
  std::optional<Plan> goal(std::string_view guard, List paths, bool wanted) {
    if (paths.empty()) return std::nullopt;
    Open open;
    for (const std::string_view path : paths) {
      const auto is_there = look(guard, path, open);
      if (is_there && *is_there != wanted) return std::nullopt;  // whatever becomes of the others
    }
    if (open.any()) {
      open_.add(std::move(open));
      return std::nullopt;
    }
    std::string text(paths.front());
    if (paths.size() > 1) text += " and " + std::to_string(paths.size() - 1) + " more";
    text +=
        paths.size() > 1 ? (wanted ? " exist" : " do not exist") : (wanted ? " exists" : " does not exist");
    return Plan::kept("Nothing to do: " + text);
  }

  std::optional<Plan> open() && {
    if (open_.who) return Plan::unknown(open_.who->state_id, std::move(open_.text));
    return std::move(open_.problem);
  }

 private:
  // Nothing: it cannot be told, and `open` says why.
  std::optional<bool> look(std::string_view guard, std::string_view path, Open& open) {
    const auto is_there = exists(path, whose_, context_);
    const Overlay::Entry* who = context_.overlay.take_doubt();
    if (!who && !is_there) {
      open.add({.problem = Plan::fail(std::string(guard) + ": " + is_there.error().message())});
      return std::nullopt;
    }
    if (!who) who = who_may_change(path, *is_there, context_);
    if (!who) return *is_there;
    open.add({.who = who, .text = std::string(path) + " depends on what an earlier state does"});
    return std::nullopt;
  }

  const std::optional<uid_t> whose_;
  Context& context_;
  Open open_;
};

}  // namespace

std::optional<Plan> held_back_by_paths(const Params& params, std::optional<uid_t> whose, Context& context) {
  // What holds it back for certain decides, whatever becomes of other paths, and whoever it would run as.
  PathGuards guards(whose, context);
  if (auto held = guards.goal("creates", params.creates, true)) return held;
  if (auto held = guards.goal("removes", params.removes, false)) return held;
  if (auto held = guards.each("if-path-present", params.if_path_present, true)) return held;
  if (auto held = guards.each("if-path-absent", params.if_path_absent, false)) return held;
  return std::move(guards).open();
}

}  // namespace states::linux_cmd
