#include "states/linux_apt_package/choosing.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "states/debian/debian_version.hpp"

namespace states::linux_apt_package {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kMostShown = 5;

std::string not_available(const Entry& entry, const std::vector<std::string>& versions) {
  const std::vector<std::string> shown(
      versions.begin(),
      versions.begin() + static_cast<std::ptrdiff_t>(std::min(versions.size(), kMostShown)));
  return "Version " + version_text(entry) + " of " + entry.name +
         " is not available (available: " + (shown.empty() ? "none" : base::join(shown, ", ")) + ")";
}

// The version to install for an entry with Want::version; empty if there is none. Versions are newest first.
std::string pick(const Entry& entry, const std::string& candidate, const std::vector<std::string>& versions) {
  // Where several would do, the one that apt prefers: not a backport that nobody asked for.
  if (entry.relation != Relation::matching && !candidate.empty() && is_satisfied(entry, candidate))
    return candidate;
  const auto found = std::ranges::find_if(
      versions, [&](const std::string& version) { return is_satisfied(entry, version); });
  return found == versions.end() ? std::string() : *found;
}

std::string forbidden_text(const std::string& name) {
  return "apt has versions of " + name + ", but a pin forbids them all: see 'apt-cache policy " + name +
         "' and /etc/apt/preferences.d, or ask for one of them by its number";
}

bool is_downgrade(const Item& item, std::string_view version) {
  return !item.before.empty() && debian::compare_debian_versions(version, item.before) < 0;
}

}  // namespace

std::vector<std::string> names_to_look_up(const std::vector<Item>& items) {
  std::vector<std::string> names;
  for (const Item& item : items)
    if (item.entry.want != Want::file && (item.action == Action::install || item.entry.want == Want::latest))
      names.push_back(item.entry.name);
  return names;
}

Result<Chosen> choose(std::vector<Item>& items, const debian::AptCandidates& candidates,
                      debian::AptCache& cache) {
  Chosen chosen;
  std::vector<std::string> files, unknown, problems;
  for (Item& item : items) {
    const Entry& entry = item.entry;
    const auto found = candidates.find(entry.name);
    const std::string candidate = found == candidates.end() ? std::string() : found->second;
    if (item.action == Action::none && is_outdated(item, candidate)) item.action = Action::install;
    if (item.action != Action::install) continue;
    if (entry.want == Want::file) {
      files.push_back(entry.file);
      chosen.downgrades = chosen.downgrades || is_downgrade(item, entry.version);
    } else if (found == candidates.end()) {
      unknown.push_back(entry.name);
    } else if (candidate.empty() && entry.want != Want::version) {
      problems.push_back(forbidden_text(entry.name));
    } else if (entry.want == Want::version) {
      auto versions = cache.versions(entry.name);
      if (!versions) return std::move(versions).error();
      const std::string version = pick(entry, candidate, *versions);
      if (version.empty()) problems.push_back(not_available(entry, *versions));
      chosen.targets.push_back(entry.name + "=" + version);
      chosen.downgrades = chosen.downgrades || is_downgrade(item, version);
    } else {
      chosen.targets.push_back(entry.name);
    }
  }
  if (!unknown.empty()) problems.insert(problems.begin(), "Unknown package(s): " + base::join(unknown, ", "));
  if (!problems.empty()) return Error(ErrorCode::not_found, base::join(problems, "\n"));
  chosen.targets.insert(chosen.targets.end(), files.begin(), files.end());
  return chosen;
}

}  // namespace states::linux_apt_package
