#include "agent/install/version_removal.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "agent/install/files.hpp"
#include "agent/install/install.hpp"
#include "base/files/durable_file.hpp"

namespace agent::install {

namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::os_error;
using base::Result;

// Not synced one by one: the fewer moments there are between the first and the last, the better.
Result<void> unlink_quickly(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return {};
  return os_error(errno, "removing " + path);
}

// Empty folders, the deepest first; one that is not empty stays.
void remove_empty_folders(const std::string& folder) {
  std::error_code failed;
  std::vector<std::string> below;
  for (fs::recursive_directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed))
    if (entry->is_directory(failed) && !entry->is_symlink(failed)) below.push_back(entry->path().string());
  std::ranges::sort(below, std::greater<>());
  for (const std::string& each : below)
    ::rmdir(each.c_str());
  ::rmdir(folder.c_str());
}

void note_what_is_left(const Site& site, const std::string& folder, std::vector<std::string>& kept) {
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed))
    if (!entry->is_directory(failed) || entry->is_symlink(failed))
      kept.push_back(entry->path().string().substr(site.root.size()) + ": it is not in the manifest");
}

Result<void> remove_version(const Site& site, const std::string& folder, std::vector<std::string>& kept) {
  auto manifest = read_manifest(folder);
  if (!manifest && manifest.error().code() != ErrorCode::not_found) {
    kept.push_back(folder.substr(site.root.size()) + ": " + manifest.error().message());
    return {};
  }
  if (manifest) {
    // What the program needs to run is last, and the manifest behind it.
    std::ranges::stable_partition(manifest->files, [](const ManifestFile& file) {
      return !file.path.starts_with("lib/") && file.path != "bin/opsagent";
    });
    for (const ManifestFile& file : manifest->files)
      if (auto removed = unlink_quickly(folder + "/" + file.path); !removed) return removed;
    if (auto removed = unlink_quickly(folder + "/" + kManifestName); !removed) return removed;
  }
  remove_empty_folders(folder);
  if (is_there(folder)) note_what_is_left(site, folder, kept);
  return base::sync_folder_of(folder);
}

}  // namespace

Result<void> remove_versions(const Site& site, std::vector<std::string>& kept) {
  const std::string versions = site.layout().prefix() + "/versions";
  if (!is_there(versions)) return {};
  const std::string own = own_release().value_or("");
  std::vector<std::string> names = names_in(versions);
  std::ranges::stable_partition(names, [&](const std::string& name) { return versions + "/" + name != own; });
  for (const std::string& name : names) {
    const std::string folder = versions + "/" + name;
    if (!update::Layout::is_name(name) || !is_folder(folder)) {
      kept.push_back(folder.substr(site.root.size()) + ": it is not a version");
      continue;
    }
    if (auto removed = remove_version(site, folder, kept); !removed) return removed;
  }
  auto removed = remove_empty_folder(versions);
  return removed ? Result<void>() : Result<void>(std::move(removed).error());
}

}  // namespace agent::install
