// `opsagent migrate`: from the original OpsAgent to this one, and back.
//
// Before anything is changed, all that will be is saved in the state folder, in migrated/: a record and a
// copy of each file. Killed anywhere, a migration that is run again completes it, and undo puts back what was
// saved. At no time do both agents run: the original is stopped, and seen to be gone, before anything is
// taken over; and undo stops and removes our service before the original starts. The original's own folders
// are not touched. Blocks for as long as services take to stop; any thread.
#pragma once

#include <optional>
#include <string>

#include "agent/install/install.hpp"
#include "agent/install/original.hpp"

namespace agent::install {

// Nothing to do is no error: false.
base::Result<bool> migrate(const Site& site, const Say& say);
// What was migrated is the original's again. `start`: it runs again if it did. An error when nothing was.
base::Result<void> undo_migration(const Site& site, bool start, const Say& say);
// Whether undo_migration() has something to undo.
bool was_migrated(const Site& site);

}  // namespace agent::install
