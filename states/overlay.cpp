#include "states/overlay.hpp"

#include <algorithm>
#include <array>

namespace states {

namespace {

constexpr char kPath = 'p';

// Files, directories and links share one name space: the file system's.
char letter_of(EffectKind kind) {
  switch (kind) {
    case EffectKind::user:
      return 'u';
    case EffectKind::group:
      return 'g';
    case EffectKind::package:
      return 'k';
    case EffectKind::unit:
      return 's';
    default:
      return kPath;
  }
}

std::string key_of(EffectKind kind, std::string_view name) {
  return letter_of(kind) + std::string(name);
}

// The folders above a path, outermost first, without "/".
template <class Visit>
void for_each_above(std::string_view path, Visit visit) {
  for (std::size_t slash = path.find('/', 1); slash != std::string_view::npos;
       slash = path.find('/', slash + 1))
    visit(path.substr(0, slash));
}

// An uncertain path of which only the last component is known, because the way to it is not, has that for its
// name, without a slash. Whoever asks for a path with such a component may mean it.
template <class Entries>
auto find_somewhere(const Entries& entries, std::string_view path) {
  auto found = entries.end();
  if (entries.empty()) return found;
  for (std::size_t at = path.find('/'); at != std::string_view::npos && found == entries.end();) {
    const std::size_t next = path.find('/', at + 1);
    const std::string_view component = path.substr(at + 1, next == path.npos ? path.npos : next - at - 1);
    if (!component.empty()) found = entries.find("p" + std::string(component));
    at = next;
  }
  return found;
}

// Whether a component that is named after a package may begin like this: "20-" of "20-nginx.conf".
bool is_order_number(std::string_view start) {
  const std::size_t digits = start.find_first_not_of("0123456789");
  return digits != 0 && (digits == start.npos || (digits + 1 == start.size() && start.back() == '-'));
}

// "nginx" of "nginx.service", "nginx@blue", "/etc/nginx/nginx.conf", "50nginx".
bool is_named_after(std::string_view thing, std::string_view package) {
  package = package.substr(0, package.find(':'));
  for (std::size_t at = thing.find(package); at != std::string_view::npos && !package.empty();
       at = thing.find(package, at + 1)) {
    const std::size_t end = at + package.size();
    const std::string_view before = thing.substr(0, at);
    const std::string_view start = before.substr(before.rfind('/') + 1);
    const bool begins = start.empty() || is_order_number(start);
    const bool ends = end == thing.size() || std::string_view("./@-").find(thing[end]) != thing.npos;
    if (begins && ends) return true;
  }
  return false;
}

// The absolute paths that are words of a command.
template <class Visit>
void for_each_path_in(std::string_view command, Visit visit) {
  constexpr std::string_view kEnds = " \t\n\"'`;|&()<>=";
  while (!command.empty()) {
    const std::size_t end = std::min(command.find_first_of(kEnds), command.size());
    if (command.starts_with('/'))
      if (auto path = base::clean_path(command.substr(0, end)); path && *path != "/") visit(std::move(*path));
    command.remove_prefix(std::min(end + 1, command.size()));
  }
}

bool is_below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

// Whether packages put files there. Where their tools keep what they know is not for their files.
bool is_for_packages(std::string_view path) {
  constexpr std::array<std::string_view, 8> kTheirs{"/etc", "/usr", "/opt",  "/var",
                                                    "/bin", "/lib", "/sbin", "/boot"};
  constexpr std::array<std::string_view, 6> kOthers{"/usr/local",        "/var/lib/apt",    "/var/lib/dpkg",
                                                    "/var/lib/opsagent", "/var/spool/cron", "/var/tmp"};
  const auto holds = [&](std::string_view folder) { return is_below(path, folder); };
  return std::ranges::any_of(kTheirs, holds) && std::ranges::none_of(kOthers, holds);
}

// Folders in which many packages have something, each by its own name, and administrators have theirs.
bool is_shared_by_packages(std::string_view folder) {
  constexpr std::array kShared = std::to_array<std::string_view>({"/etc/apt/apt.conf.d",
                                                                  "/etc/apt/auth.conf.d",
                                                                  "/etc/apt/keyrings",
                                                                  "/etc/apt/preferences.d",
                                                                  "/etc/apt/sources.list.d",
                                                                  "/etc/apt/trusted.gpg.d",
                                                                  "/etc/cron.d",
                                                                  "/etc/cron.daily",
                                                                  "/etc/cron.hourly",
                                                                  "/etc/cron.monthly",
                                                                  "/etc/cron.weekly",
                                                                  "/etc/default",
                                                                  "/etc/init.d",
                                                                  "/etc/logrotate.d",
                                                                  "/etc/modprobe.d",
                                                                  "/etc/modules-load.d",
                                                                  "/etc/network/interfaces.d",
                                                                  "/etc/pam.d",
                                                                  "/etc/profile.d",
                                                                  "/etc/rsyslog.d",
                                                                  "/etc/security/limits.d",
                                                                  "/etc/ssh/ssh_config.d",
                                                                  "/etc/ssh/sshd_config.d",
                                                                  "/etc/ssl/certs",
                                                                  "/etc/ssl/private",
                                                                  "/etc/sudoers.d",
                                                                  "/etc/sysctl.d",
                                                                  "/etc/systemd/network",
                                                                  "/etc/systemd/system",
                                                                  "/etc/sysusers.d",
                                                                  "/etc/tmpfiles.d",
                                                                  "/etc/udev/rules.d",
                                                                  "/etc/update-motd.d",
                                                                  "/lib/systemd/system",
                                                                  "/opt",
                                                                  "/usr/lib/systemd/system",
                                                                  "/usr/share/keyrings",
                                                                  "/var/cache",
                                                                  "/var/lib",
                                                                  "/var/log",
                                                                  "/var/www"});
  static_assert(std::ranges::is_sorted(kShared));
  return std::ranges::binary_search(kShared, folder);
}

}  // namespace

// Whether the path, or a folder that it is in, would be gone, or would be a new one with nothing in it.
bool Overlay::will_be_gone(std::string_view path) const {
  bool gone = false;
  const auto look = [&](std::string_view at) {
    const auto found = entries_.find(key_of(EffectKind::file, at));
    if (found != entries_.end()) gone = !found->second.effect.present || found->second.is_fresh;
  };
  for_each_above(path, look);
  look(path);
  return gone;
}

void Overlay::add(const std::string& state_id, const std::vector<Effect>& effects) {
  doubt_ = remark_ = nullptr;
  for (const Effect& effect : effects) {
    Entry entry{.effect = effect, .state_id = state_id};
    if (effect.kind == EffectKind::anything) {
      for_each_path_in(effect.name, [&](std::string path) { named_in_commands_[std::move(path)] = entry; });
      anything_ = entry;
      continue;
    }
    if (effect.kind == EffectKind::package && effect.present) packages_ = entry;
    const std::string key = key_of(effect.kind, effect.name);
    const auto known = effect.attributes_only ? entries_.find(key) : entries_.end();
    if (known != entries_.end() && !known->second.effect.attributes_only) {
      // What is made or removed there is so all the same; its owner and mode are not known anyway.
      known->second.effect.below = known->second.effect.below || effect.below;
      continue;
    }
    if (effect.kind == EffectKind::directory && effect.present) entry.is_fresh = will_be_gone(effect.name);
    const bool stays_folder = effect.present && effect.kind == EffectKind::directory;
    if (key[0] == kPath && effect.certain && !stays_folder)  // what was planned below does not count any more
      entries_.erase(entries_.lower_bound(key + "/"), entries_.lower_bound(key + "0"));
    entries_.insert_or_assign(key, std::move(entry));
  }
}

const Overlay::Entry* Overlay::find(EffectKind kind, std::string_view name) const {
  if (entries_.empty()) return nullptr;
  const auto found = entries_.find(key_of(kind, name));
  if (found == entries_.end()) return nullptr;
  return found->second.effect.certain ? &found->second : doubtful(found->second);
}

const Overlay::Entry* Overlay::path(std::string_view path) const {
  if (const auto somewhere = find_somewhere(entries_, path); somewhere != entries_.end())
    return doubtful(somewhere->second);
  const Entry* found = find(EffectKind::file, path);
  if (!found) return nullptr;
  const Entry* way = nullptr;  // what may lead elsewhere by then
  for_each_above(path, [&](std::string_view folder) {
    const auto above = entries_.find(key_of(EffectKind::file, folder));
    if (above != entries_.end() && !above->second.effect.certain && !above->second.effect.attributes_only)
      way = &above->second;
  });
  return way ? doubtful(*way) : found;
}

const Overlay::Entry* Overlay::followed(std::string_view path) const {
  const Entry* found = this->path(path);
  const bool leads_on = found && found->effect.present && found->effect.kind == EffectKind::link;
  return leads_on ? doubtful(*found) : found;
}

const Overlay::Entry* Overlay::below(std::string_view path) const {
  // Those of which the place is not known may be anywhere: their names have no slash.
  for (auto at = entries_.lower_bound("p"); at != entries_.end() && at->first[0] == kPath; ++at)
    if (!at->first.starts_with("p/")) return &at->second;
  const std::string prefix = key_of(EffectKind::file, path) + "/";
  const auto found = entries_.lower_bound(prefix);
  return found != entries_.end() && found->first.starts_with(prefix) ? &found->second : nullptr;
}

const Overlay::Entry* Overlay::concerning(std::string_view path) const {
  const auto at = [&](std::string_view name) -> const Entry* {
    const auto found = entries_.find(key_of(EffectKind::file, name));
    return found == entries_.end() ? nullptr : &found->second;
  };
  if (const auto somewhere = find_somewhere(entries_, path); somewhere != entries_.end())
    return &somewhere->second;
  const Entry* own = at(path);
  if (own && !own->effect.attributes_only) return own;
  const Entry* above = nullptr;
  for_each_above(path, [&](std::string_view folder) {
    const Entry* entry = at(folder);
    if (!entry || above) return;
    const bool stays = entry->effect.attributes_only || (entry->effect.certain && entry->effect.present &&
                                                         entry->effect.kind == EffectKind::directory);
    if (!stays || entry->is_fresh) above = entry;
  });
  return above ? above : below(path);
}

// The state that installs a package which the thing is named after.
const Overlay::Entry* Overlay::package_named_in(std::string_view thing) const {
  for (auto at = entries_.lower_bound("k"); at != entries_.end() && at->first[0] == 'k'; ++at)
    if (at->second.effect.present && is_named_after(thing, at->second.effect.name)) return &at->second;
  return nullptr;
}

const Overlay::Entry* Overlay::provider(EffectKind kind, std::string_view name) const {
  if (const Entry* entry = find(kind, name)) return entry->effect.present ? entry : nullptr;
  if (kind != EffectKind::package) {
    if (const Entry* package = package_named_in(name)) return package;
    if (packages_) return doubtful(*packages_);
  }
  return anything_ ? doubtful(*anything_) : nullptr;
}

const Overlay::Entry* Overlay::command_naming(std::string_view path) const {
  if (named_in_commands_.empty()) return nullptr;
  const Entry* naming = nullptr;
  const auto look = [&](std::string_view at) {
    const auto found = named_in_commands_.find(at);
    if (found != named_in_commands_.end()) naming = &found->second;
  };
  for_each_above(path, look);
  look(path);
  return naming;
}

bool Overlay::may_appear(std::string_view path, bool has_folder) {
  if (!packages_ || nothing_is_brought_ || !is_for_packages(path)) return false;
  if (entries_.contains(key_of(EffectKind::file, path)) || will_be_gone(path)) return false;  // it is known
  const Entry* named = package_named_in(path);
  if (!named && has_folder && is_shared_by_packages(base::split_path(path).folder)) {
    remark_ = &*packages_;
    return false;
  }
  doubtful(named ? *named : *packages_);
  return true;
}

base::PlannedPaths::Answer Overlay::answer(std::string_view path, Use use) {
  if (entries_.empty()) return Answer::as_it_is;
  if (const auto somewhere = find_somewhere(entries_, path); somewhere != entries_.end()) {
    doubtful(somewhere->second);
    return Answer::not_known;
  }
  const Entry* doubt = nullptr;       // what makes the way uncertain
  const Entry* attributes = nullptr;  // who changes those of all that is below
  bool gone = false;
  for_each_above(path, [&](std::string_view folder) {
    const auto found = entries_.find(key_of(EffectKind::file, folder));
    if (found == entries_.end() || doubt) return;
    const Entry& entry = found->second;
    const bool is_certain = entry.effect.certain || entry.effect.attributes_only;
    if (!is_certain || (entry.effect.present && entry.effect.kind != EffectKind::directory)) {
      doubt = &entry;
      return;
    }
    gone = !entry.effect.present || entry.is_fresh;
    if (entry.effect.below) attributes = &entry;
  });
  const auto found = entries_.find(key_of(EffectKind::file, path));
  if (doubt || found == entries_.end()) {
    if (!doubt && gone) return Answer::missing;
    if (!doubt && use == Use::all) doubt = attributes;
    if (doubt) doubtful(*doubt);
    return doubt ? Answer::not_known : Answer::as_it_is;
  }
  const Entry& entry = found->second;
  if (entry.effect.certain && !entry.effect.present) return Answer::missing;
  const bool is_folder = entry.effect.kind == EffectKind::directory;
  if (entry.effect.certain && is_folder && use == Use::way)
    return entry.is_fresh ? Answer::missing : Answer::as_it_is;
  if (entry.effect.attributes_only && use != Use::all) return Answer::as_it_is;
  doubtful(entry);
  return Answer::not_known;
}

}  // namespace states
