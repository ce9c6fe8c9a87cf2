// A recipe that a user names on the command line. Blocks on the disk or on standard input.
#pragma once

#include <string>

#include "base/result.hpp"

namespace ctl {

// The text of the file, with the files that it names in it; "-" is standard input. Recipes of more than 32 MiB
// are refused.
base::Result<std::string> read_recipe(const std::string& file);

// The text of a recipe at that place, as it can be sent: with the files beside it that it names.
base::Result<std::string> whole_recipe(const std::string& file, std::string text);

}  // namespace ctl
