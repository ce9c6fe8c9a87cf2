// The text for a new machine, as `opsctl userdata` and `opsctl trial` give it.
#pragma once

#include <string>

#include "ctl/options.hpp"

namespace ctl {

// Reads the root document (--root) and the login, and makes a join token unless one is given.
base::Result<std::string> userdata_text(const Options& options, terminal::Console& console);

// Where new machines find the releases: --release-base, or what their backend serves. No '/' at its end.
base::Result<std::string> release_base(const Options& options, const std::string& server);

}  // namespace ctl
