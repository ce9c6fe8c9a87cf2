#include "states/overlay.hpp"

namespace states {

namespace {

// Files, directories and links share one name space: the file system's.
std::string key_of(EffectKind kind, std::string_view name) {
  char letter = 'p';
  switch (kind) {
    case EffectKind::user:
      letter = 'u';
      break;
    case EffectKind::group:
      letter = 'g';
      break;
    case EffectKind::package:
      letter = 'k';
      break;
    case EffectKind::unit:
      letter = 's';
      break;
    default:
      break;
  }
  return letter + std::string(name);
}

}  // namespace

void Overlay::add(const std::string& state_id, const std::vector<Effect>& effects) {
  for (const Effect& effect : effects) {
    const Entry entry{effect, state_id};
    if (effect.kind == EffectKind::anything) {
      anything_ = entry;
      continue;
    }
    if (effect.kind == EffectKind::package && effect.present) packages_ = entry;
    entries_.insert_or_assign(key_of(effect.kind, effect.name), entry);
  }
}

const Overlay::Entry* Overlay::find(EffectKind kind, std::string_view name) const {
  if (entries_.empty()) return nullptr;
  const auto found = entries_.find(key_of(kind, name));
  return found == entries_.end() ? nullptr : &found->second;
}

const Overlay::Entry* Overlay::path(std::string_view path) const {
  return find(EffectKind::file, path);
}

const Overlay::Entry* Overlay::provider(EffectKind kind, std::string_view name) const {
  if (const Entry* entry = find(kind, name)) return entry->effect.present ? entry : nullptr;
  if (anything_) return &*anything_;
  if (packages_ && kind != EffectKind::package) return &*packages_;
  return nullptr;
}

}  // namespace states
