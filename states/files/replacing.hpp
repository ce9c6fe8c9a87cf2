// What a file loses when it is replaced or gets another owner, for plans to show; and what keeps it from
// being changed at all.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/tree/attributes.hpp"
#include "base/tree/inode_flags.hpp"
#include "states/context.hpp"
#include "states/plan.hpp"

namespace states::files {

// Why nobody can change what is at this path, or put something there, and what to do (chattr, umount); ""
// when it is not so. Folders that are missing yet keep nobody.
std::string why_locked(std::string_view path, base::Changing what, Context& context);

// Adds a change for each thing that the regular file at this path has, and the one that takes its place will
// not: other names (hard links), and what base/tree/carry_over.hpp does not carry over.
base::Result<void> show_lost_by_replacing(std::string_view path, const struct stat& found,
                                          const base::Attributes& wanted, Context& context,
                                          std::vector<Change>& changes);

// The same for a file that only gets another owner, group or mode.
base::Result<void> show_lost_by_owner(std::string_view path, const struct stat& found,
                                      const base::Attributes& wanted, Context& context,
                                      std::vector<Change>& changes);

}  // namespace states::files
