// Service: the agent as a service of this machine: a unit of systemd, or a SysV script with its links. In an
// image only files and links are made. Every call can be repeated, whatever an earlier one that was killed
// has left. Blocks, up to minutes where something has to stop; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/install/site.hpp"
#include "base/result.hpp"

namespace agent::install {

enum class Init { systemd, sysv };

// This machine's: systemd runs or does not. An image's: systemd is in it or is not.
Init init_of(const Site& site);

// The package's unit, made into one that starts the launcher: its ExecStart= and NotifyAccess= lines are
// replaced, all else stays, so there is one unit to maintain. The error: it has not exactly one of each.
base::Result<std::string> unit_text(std::string_view package_unit, const Site& site);
// The same for the script's DAEMON= and DAEMON_ARGS= lines.
base::Result<std::string> script_text(std::string_view script, const Site& site);

class Service {
 public:
  Service(const Site& site, Init init) : site_(site), init_(init) {}

  // Why it cannot be put in place: something that is not ours is there. Empty: it can.
  std::string obstacle() const;

  // From the release's share/ folder. True when it was not so already.
  base::Result<bool> put(const std::string& share) const;
  base::Result<void> enable() const;
  base::Result<void> start() const;
  base::Result<void> restart() const;
  // Returns when it has stopped. Not installed, not running: fine.
  base::Result<void> stop() const;
  // Disables and removes both kinds, if they are ours. Answers what was left, with the reason.
  base::Result<std::vector<std::string>> remove() const;

 private:
  base::Result<void> put_links() const;
  base::Result<void> remove_unit() const;
  base::Result<void> remove_script() const;
  bool is_ours(const char* path) const;

  const Site& site_;
  const Init init_;
};

}  // namespace agent::install
