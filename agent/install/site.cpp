#include "agent/install/site.hpp"

#include <array>

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

}  // namespace agent::install
