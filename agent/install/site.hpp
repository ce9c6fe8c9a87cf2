// Site: where on a machine (or in an image of one) the self-contained installation lives, and the one list of
// everything that belongs to it. `install`, `uninstall` and the help follow from that list. Values; any
// thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "update/layout.hpp"

namespace agent::install {

inline constexpr const char* kStateFolder = "/var/lib/opsagent";
inline constexpr const char* kCommandLink = "/usr/local/bin/opsagent";
inline constexpr const char* kUnit = "/etc/systemd/system/opsagent.service";
inline constexpr const char* kUnitWanted = "/etc/systemd/system/multi-user.target.wants/opsagent.service";
// The first line of what the bootstrap script writes (bootstrap/userdata.sh).
inline constexpr std::string_view kBootstrapMark = "# Written by the bootstrap script of OpsAgent.";
inline constexpr const char* kInitScript = "/etc/init.d/opsagent";

struct Site {
  std::string root;  // an image's folder; empty: this machine
  std::string prefix{update::kDefaultPrefix};
  std::string state_dir{kStateFolder};

  bool is_live() const { return root.empty(); }
  // As we open it: below the root.
  std::string at(std::string_view path) const { return root + std::string(path); }
  update::Layout layout() const { return update::Layout(at(prefix)); }
  // Where the link on the PATH leads.
  std::string program() const { return prefix + "/current/bin/opsagent"; }
};

// How a thing is known to be ours, and removed.
enum class Kind {
  service,      // by its own means (service.hpp); what it starts is ours
  file,         // by its name
  marked_file,  // begins with the bootstrap's mark
  log,          // by its name, and with a number behind it
  link,         // leads where ours does
  scratch,      // a folder that nobody else may use: with all that is in it
  state,        // the state folder: see uninstall.hpp
  versions,     // the files of their manifests
  folder,       // when nothing is left in it
  empty_state,  // the folder that systemd makes, when nothing is in it
};

struct Place {
  std::string_view path;  // {prefix} and {state} stand for the site's
  Kind kind;
  std::string_view what;
  bool is_kept_with_state = false;  // by uninstall --keep-state
};

// In the order in which they are removed: the program itself is last, so that it can be run again.
std::span<const Place> places();
std::string path_of(const Place& place, const Site& site);

// Of an image: an error when a link in it leads one of the places, or what init scripts need, out of it. An
// absolute link means the image's own file once it runs, and this machine's as long as it is only a folder.
base::Result<void> check_stays_inside(const Site& site);

}  // namespace agent::install
