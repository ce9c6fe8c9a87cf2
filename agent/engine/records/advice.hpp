// What to do when the agent cannot have its own files: lock, journal.
#pragma once

#include <string>

#include "base/result.hpp"

namespace agent::engine {

// "cannot write …: No space left on device. Make room on the disk with /var/lib/opsagent"
std::string with_advice(const base::Error& why, const std::string& state_dir);

}  // namespace agent::engine
