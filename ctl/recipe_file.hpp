// A recipe that a user names on the command line. Blocks on the disk or on standard input.
#pragma once

#include <string>

#include "base/result.hpp"

namespace ctl {

// The text of the file; "-" is standard input. Recipes of more than 32 MiB are refused.
base::Result<std::string> read_recipe(const std::string& file);

}  // namespace ctl
