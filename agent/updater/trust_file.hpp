// What this machine believes about releases, on disk: STATE/update/trusted. Blocks for short reads and
// writes; one thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "release/trust.hpp"

namespace agent::updater {

// Made from STATE/update/root.json, which the bootstrap pinned, when there is none yet. A damaged one is an
// error, not a new beginning: it holds the floor.
base::Result<release::Trust> load_trust(const std::string& state_dir);
base::Result<void> store_trust(const std::string& state_dir, const release::Trust& trust);

// A confirmed update: nothing older is believed from now on.
base::Result<void> raise_floor(const std::string& state_dir, std::uint64_t number);

}  // namespace agent::updater
