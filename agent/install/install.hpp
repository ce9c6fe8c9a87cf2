// `opsagent install`: the release that this program lies in becomes the installed and running one.
//
// Each step can be repeated: killed anywhere, an install that is run again completes it. Two at once exclude
// each other. Blocks for as long as the service takes to start; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "agent/install/site.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace agent::install {

// Told of each step before it is taken.
using Say = std::function<void(const std::string&)>;

struct InstallOptions {
  Site site;
  std::string release;  // the folder that holds bin/, lib/, share/ and the manifest
  std::string sha256;   // of the archive; empty: the release lies in versions/ already, and has its name
  bool start = true;
  std::uint64_t number = 0;  // the release's: nothing older is believed from now on. 0: it is not known
};

// Answers the version's folder name.
base::Result<std::string> install(const InstallOptions& options, const Say& say);

// The folder of the release that the running program belongs to. Nothing: it is not part of one (a package,
// a build folder).
std::optional<std::string> own_release();

// Held while something is installed or removed below the prefix, which must be there.
base::Result<base::UniqueFd> lock_prefix(const Site& site);

}  // namespace agent::install
