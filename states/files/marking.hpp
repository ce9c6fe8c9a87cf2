// Marking: what a plan would overwrite or remove, as a hash that a saved plan is compared by.
//
// Changes show sizes, and diffs of what everybody may read, up to a length. A later edit that these do not
// show must not be undone by a plan that was made before it.
#pragma once

#include <string_view>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/plan.hpp"

namespace states::files {

// The content of a regular file, or where a symlink leads, goes into the mark of the plan. Nothing is read
// when no plan is saved or compared.
base::Result<void> mark_content(std::string_view path, const struct stat& found, Context& context,
                                Plan& plan);

}  // namespace states::files
