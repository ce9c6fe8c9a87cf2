// A folder for what only the agent may read, and must be able to trust.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.hpp"

namespace base {

// Makes every folder that is missing on the way, 0755, and the last one with `mode`. An Error too when one is
// there that others (others.hpp) can write to, or put another one in the place of, because they can write to
// one above it: whoever can write a journal can make us remove files. Above it, sticky folders such as /tmp
// will do.
base::Result<void> make_private_folder(std::string path, mode_t mode = 0700);

}  // namespace base
