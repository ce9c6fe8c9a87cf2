#include "agent/engine/managed_host.hpp"

#include <algorithm>

namespace agent::engine {

namespace {

std::string_view family_name(base::OsRelease::Family family) {
  switch (family) {
    case base::OsRelease::Family::debian:
      return "debian";
    case base::OsRelease::Family::rhel:
      return "rhel";
    case base::OsRelease::Family::other:
      return "other";
  }
  return "other";
}

// A disk that cannot be read says nothing of what is on it. What an earlier state decides (`unsupported`) is
// the overlay's to say.
bool says_absent(const base::Error& error) {
  return error.code() == base::ErrorCode::not_found || error.code() == base::ErrorCode::exists ||
         error.code() == base::ErrorCode::unsupported;
}

}  // namespace

ManagedHost::Condition ManagedHost::check(const recipe::When& when, const states::Overlay& overlay) {
  Condition condition;
  const auto require = [&](std::string_view path, bool wanted) {
    const std::string clean = *base::clean_path(path);  // checked when the recipe was read
    const states::Overlay::Entry* planned = overlay.followed(clean);
    bool is_there = planned && planned->effect.present;
    std::string problem;
    if (!planned) {
      // Follows links, as `test -e` does, but none that a user could point anywhere.
      const auto found = tree_.follow(clean);
      is_there = bool(found);
      if (!found && !says_absent(found.error()))
        problem = "Its condition cannot be told: " + found.error().message();
    }
    const states::Overlay::Entry* provider = overlay.take_doubt();
    if (!provider && !problem.empty()) {
      condition.problem = std::move(problem);
      return;
    }
    if (!provider && !planned)
      provider = is_there ? overlay.command_naming(clean) : overlay.provider(states::EffectKind::file, clean);
    if (provider)
      condition.depends_on = provider;
    else if (is_there != wanted)
      condition.holds = false;
  };
  const auto is_os = [&](std::string_view name) {
    return name == host_.os.id || name == family_name(host_.os.family);
  };
  for (std::string_view path : when.path_exists)
    require(path, true);
  for (std::string_view path : when.path_absent)
    require(path, false);
  if (!when.os.empty() && std::ranges::none_of(when.os, is_os)) condition.holds = false;
  if (!condition.holds) condition.depends_on = nullptr;  // whatever becomes of the other paths
  if (!condition.holds || condition.depends_on) condition.problem.clear();
  return condition;
}

std::optional<std::string> ManagedHost::refusal(const states::StateType& type) const {
  const auto family = host_.os.family;
  const bool fits = type.family() == states::Family::any ||
                    (type.family() == states::Family::debian && family == base::OsRelease::Family::debian) ||
                    (type.family() == states::Family::rhel && family == base::OsRelease::Family::rhel);
  if (!fits)
    return "Module '" + std::string(type.name()) + "' does not apply to " +
           (host_.os.id.empty() ? "this system" : host_.os.id);
  if (!type.works_below_root() && !host_.is_running_system())
    return "Module '" + std::string(type.name()) + "' works on the running system only, not below " +
           host_.root;
  return std::nullopt;
}

states::ApplyContext ManagedHost::context(const Parts& parts) {
  return {{.state_id = parts.state_id,
           .host = host_,
           .tree = tree_,
           .accounts = accounts_,
           .overlay = parts.overlay,
           .commands = parts.commands,
           .interrupt = parts.interrupt,
           .facts = facts_,
           .notes = notes_,
           .waits = parts.waits,
           .watch_triggered = parts.watch_triggered,
           .watch_changed = parts.watch_changed,
           .watch_reacted = parts.watch_reacted,
           .orders = parts.orders,
           .sensitive = parts.sensitive,
           .wants_diffs = parts.wants_diffs,
           .plans_only = parts.plans_only,
           .plan_salt = parts.plan_salt,
           .redactor = parts.redactor,
           .is_paced = parts.is_paced,
           .recipe = parts.recipe},
          writer_};
}

void ManagedHost::new_round() {
  invalidate_caches();
  notes_.clear();
}

void ManagedHost::invalidate_caches() {
  tree_.forget();
  accounts_.forget();
  facts_.clear();
}

}  // namespace agent::engine
