// How an agent that has to end tells its launcher that it lets a package manager finish first: by a lock,
// which goes with the process that holds it.
#pragma once

#include <string>

#include "base/unique_fd.hpp"

namespace update {

// Takes STATE/must-finish.lock. An invalid descriptor if that cannot be had: then the launcher does not wait.
base::UniqueFd lock_must_finish(const std::string& state_dir);

// Whether somebody holds it.
bool must_finish(const std::string& state_dir);

}  // namespace update
