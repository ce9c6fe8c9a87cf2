// What is at the paths that linux.cmd is told of, now or by the time the command would run.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "states/context.hpp"

namespace states::linux_cmd {

// What is at a path, links followed as far as the agent follows any; nothing when it is not there.
base::Result<std::optional<struct stat>> found_at(std::string_view path, std::optional<uid_t> whose,
                                                  Context& context);

// What an earlier state of the recipe would have done to this very path.
const Overlay::Entry* planned_at(std::string_view path, const Context& context);

}  // namespace states::linux_cmd
