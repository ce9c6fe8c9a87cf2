// The folder in which states run commands that name no other.
#pragma once

#include <string>

#include "base/result.hpp"
#include "states/context.hpp"

namespace states::files {

// <state directory>/tmp, made (root, 0711) when it is missing.
base::Result<std::string> working_folder(ApplyContext& context);

}  // namespace states::files
