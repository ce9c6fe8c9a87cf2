#include "agent/install/site.hpp"

#include <sys/stat.h>

#include <array>
#include <vector>

#include "base/files/way.hpp"
#include "base/tree/tree.hpp"

namespace agent::install {

namespace {

constexpr std::array kPlaces{
    Place{kUnit, Kind::service, "the unit, or /etc/init.d/opsagent with its links where there is no systemd"},
    Place{"{state}", Kind::state, "identity, trusted release documents, journals, recipe, reports", true},
    Place{kStateFolder, Kind::empty_state, "made by systemd for every such unit", true},
    Place{"/var/log/opsagent-bootstrap.log", Kind::file, "what the bootstrap script said"},
    Place{"/var/log/opsagent.log", Kind::log, "the agent's log, where there is no journal"},
    Place{"/etc/opsagent.conf", Kind::marked_file, "the configuration, if the bootstrap script wrote it",
          true},
    Place{kCommandLink, Kind::link, "so that the program is found"},
    Place{"{prefix}/staging", Kind::scratch, "what an update was unpacking"},
    Place{"{prefix}/launch", Kind::file, "the launcher"},
    Place{"{prefix}/current", Kind::file, "which version runs"},
    Place{"{prefix}/versions", Kind::versions, "the versions, each with the files of its manifest"},
    Place{"{prefix}", Kind::folder, "unless there is something else in it"},
};

// The folders that something of ours is in, or may be.
std::vector<std::string> folders_of(const Site& site) {
  std::vector<std::string> folders{"/etc/init.d", std::string(base::split_path(kUnitWanted).folder)};
  for (const char level : std::string_view("0123456"))
    folders.push_back(std::string("/etc/rc") + level + ".d");
  for (const Place& place : places())
    folders.emplace_back(base::split_path(path_of(place, site)).folder);
  folders.push_back(site.prefix);
  folders.push_back(site.state_dir);
  return folders;
}

bool is_same(int folder, const std::string& path) {
  struct stat inside {};
  struct stat named {};
  return ::fstat(folder, &inside) == 0 && ::stat(path.c_str(), &named) == 0 &&
         inside.st_dev == named.st_dev && inside.st_ino == named.st_ino;
}

}  // namespace

std::span<const Place> places() {
  return kPlaces;
}

std::string path_of(const Place& place, const Site& site) {
  std::string path(place.path);
  const auto fill = [&](std::string_view name, const std::string& with) {
    if (path.starts_with(name)) path = with + path.substr(name.size());
  };
  fill("{prefix}", site.prefix);
  fill("{state}", site.state_dir);
  return path;
}

base::Result<void> check_stays_inside(const Site& site) {
  if (site.is_live()) return {};
  const auto root = base::walk_way(site.root);
  if (!root) return root.error();
  for (const std::string& folder : folders_of(site)) {
    // What is missing will be made in the first folder above it that is there.
    for (std::string_view there = folder;; there = base::split_path(there).folder) {
      const auto inside = base::walk_way(root->end.get(), there);
      struct stat st {};
      const bool is_missing = !inside && ::stat(site.at(there).c_str(), &st) != 0;
      if (is_missing && there != "/") continue;
      if (!inside && inside.error().code() != base::ErrorCode::not_found) return inside.error();
      if (inside && is_same(inside->end.get(), site.at(there))) break;
      return base::Error(base::ErrorCode::permission,
                         site.at(there) + " is, or is below, a symlink that leads out of " + site.root +
                             ", to a file of this machine: make it a relative one first");
    }
  }
  return {};
}

}  // namespace agent::install
