#include "agent/machine.hpp"

#include <sys/stat.h>

#include <algorithm>

namespace agent {

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

}  // namespace

bool Machine::holds(const recipe::When& when, const states::Overlay& overlay) {
  // Follows links, as `test -e` does.
  const auto exists = [&](std::string_view path) {
    if (const states::Overlay::Entry* planned = overlay.path(path)) return planned->effect.present;
    struct stat st {};
    return ::stat((host_.root + std::string(path)).c_str(), &st) == 0;
  };
  const auto is_os = [&](std::string_view name) {
    return name == host_.os.id || name == family_name(host_.os.family);
  };
  return std::ranges::all_of(when.path_exists, exists) && std::ranges::none_of(when.path_absent, exists) &&
         (when.os.empty() || std::ranges::any_of(when.os, is_os));
}

std::optional<std::string> Machine::refusal(const states::StateType& type) const {
  const auto family = host_.os.family;
  const bool fits = type.family == states::Family::any ||
                    (type.family == states::Family::debian && family == base::OsRelease::Family::debian) ||
                    (type.family == states::Family::rhel && family == base::OsRelease::Family::rhel);
  if (!fits)
    return "Module '" + std::string(type.name) + "' does not apply to " +
           (host_.os.id.empty() ? "this system" : host_.os.id);
  if (!type.works_below_root && !host_.is_running_system())
    return "Module '" + std::string(type.name) + "' works on the running system only, not below " +
           host_.root;
  return std::nullopt;
}

states::ApplyContext Machine::context(const Parts& parts) {
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
           .watch_changed = parts.watch_changed},
          writer_};
}

void Machine::new_round() {
  distrust();
  notes_.clear();
}

void Machine::distrust() {
  tree_.forget();
  accounts_.forget();
  facts_.clear();
}

}  // namespace agent
