// Locks in a working copy that nobody holds any more. git, hg and svn leave theirs when the power fails or
// they are killed, and refuse to work until somebody has taken them away.
//
// A lock is nobody's when no process of this machine is at work there: none has an open file in the folder of
// git's (hg's, svn's) own things, and none of these programs has its working folder in the working copy. Into
// the namespaces of containers nobody looks: as long as git, hg or svn runs in one, locks are left. So are
// all on file systems of a network, whose holder may be on another machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"

namespace states::checkouts {

// Whether a process may be at work in a working copy. `marker`: ".git".
bool is_worked_in(const std::string& path, std::string_view marker, Context& context);

// Removes those of the locks that are nobody's, and answers which. They are named below the folder of the
// marker; "refs/*.lock" are all in that folder and below it.
base::Result<std::vector<std::string>> remove_dead_locks(const std::string& path, std::string_view marker,
                                                         const std::vector<std::string_view>& locks,
                                                         ApplyContext& context);

}  // namespace states::checkouts
