// Folders of the agent's own, below its state directory: above all the one in which states run commands that
// name no other.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "states/context.hpp"

namespace states::files {

// <state directory>/tmp, made (root, 0711) when it is missing.
base::Result<std::string> working_folder(ApplyContext& context);

// Makes a folder (a clean_path) with all that is missing above it, each with these attributes.
base::Result<void> make_folders(std::string_view path, const base::Attributes& attributes,
                                ApplyContext& context);

}  // namespace states::files
