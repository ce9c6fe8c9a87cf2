#include "states/linux_apt_package/wording.hpp"

#include <array>

#include "base/text.hpp"
#include "states/debian/debian_version.hpp"
#include "states/downloads/download.hpp"
#include "states/linux_apt_package/remote_file.hpp"
#include "states/linux_apt_package/removals.hpp"
#include "states/packages/lists.hpp"

namespace states::linux_apt_package {

namespace {

using packages::append_list;
using packages::bounded_list;
using packages::capitalise;

// What is removed although the recipe does not name it.
void append_also(std::string& text, std::string_view word, const Steps& steps) {
  if (!steps.unnamed || steps.unnamed->empty()) return;
  append_list(text, word, {bounded_list(names_of(*steps.unnamed))});
}

}  // namespace

std::string found_text(const debian::DpkgPackage* package) {
  if (!package || package->state == debian::DpkgState::not_installed) return "absent";
  if (package->state == debian::DpkgState::config_files) return "removed, configuration files left";
  if (package->is_installed()) return std::string(package->version);
  return std::string(package->needs_reinstall ? "broken" : debian::dpkg_state_name(package->state)) + " (" +
         std::string(package->version) + ")";
}

std::string after_text(const Entry& entry, std::string_view candidate, bool is_listed,
                       const Context& context) {
  if (entry.want == Want::removed) return "removed";
  if (entry.want == Want::purged) return "purged";
  if (entry.want == Want::file)
    return (entry.version.empty() ? "" : entry.version + " ") + "from " +
           (is_remote(entry) ? downloads::shown_url(entry.file, context) : entry.file);
  if (entry.want != Want::version && !candidate.empty()) return std::string(candidate);
  std::string text = entry.want == Want::version  ? version_text(entry)
                     : entry.want == Want::latest ? "latest"
                                                  : "installed";
  if (!is_listed) text += " (not in the present package lists)";
  return text;
}

std::string plan_message(const Steps& steps, bool refresh) {
  std::vector<std::string> removed, purged, installed, changed;
  for (const Item& item : steps.items) {
    if (item.action == Action::remove) removed.push_back(item.entry.name);
    if (item.action == Action::purge) purged.push_back(item.entry.name);
    if (item.action == Action::install)
      (item.before.empty() ? installed : changed).push_back(item.entry.name);
  }
  std::string message;
  append_list(message, "remove", removed);
  append_list(message, "purge", purged);
  append_list(message, "install", installed);
  append_list(message, "change the version of", changed);
  append_also(message, "remove also", steps);
  if (refresh) append_list(message, "refresh", {"the package lists"});
  append_list(message, "skipped:", steps.skipped);
  capitalise(message);
  return message;
}

std::string kept_message(const Steps& steps) {
  std::string message = steps.items.size() == 1
                            ? "Package " + steps.items.front().entry.name + " is already as wanted"
                            : "All " + std::to_string(steps.items.size()) + " packages are already as wanted";
  append_list(message, "skipped:", steps.skipped);
  return message;
}

std::string report(const Steps& steps, const debian::DpkgStatus& now) {
  std::vector<std::string> installed, upgraded, downgraded, removed, purged, kept;
  for (const Item& item : steps.items) {
    const std::string& name = item.entry.name;
    const debian::DpkgPackage* package = find_package(now, item.entry);
    const std::string version(package ? package->version : std::string_view());
    if (item.action == Action::remove) {
      removed.push_back(name);
    } else if (item.action == Action::purge) {
      purged.push_back(name);
    } else if (item.action == Action::install && item.before.empty()) {
      installed.push_back(name + " (" + version + ")");
    } else if (item.action == Action::install && item.before != version) {
      auto& list = debian::compare_debian_versions(version, item.before) < 0 ? downgraded : upgraded;
      list.push_back(name + " (" + item.before + " -> " + version + ")");
    } else {
      kept.push_back(name);
    }
  }
  std::string text;
  append_list(text, "installed:", installed);
  append_list(text, "upgraded:", upgraded);
  append_list(text, "downgraded:", downgraded);
  append_list(text, "removed:", removed);
  append_list(text, "purged:", purged);
  append_also(text, "removed also:", steps);
  if (text.empty()) return kept_message(steps);
  append_list(text, "already as wanted:", kept);
  append_list(text, "skipped:", steps.skipped);
  capitalise(text);
  return text;
}

}  // namespace states::linux_apt_package
