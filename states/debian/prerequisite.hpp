// Programs that a module needs and that may be missing: installed from the distribution's package on demand.
//
// For programs of the running system only. A program that is there costs a look at it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/plan.hpp"

namespace states::debian {

// One row of the modules' needs: {"linux.cronjob", "crontab", "cron", "cronie"}.
struct Prerequisite {
  std::string_view module;
  std::string_view program;  // searched in the system's PATH folders
  std::string_view debian_package;
  std::string_view rhel_package;
};

// For plan(): the change that installing it would be; nothing when the program is there. An error when it is
// not and this distribution has no package for it: "Cannot run <module>: '<program>' is missing".
base::Result<std::optional<Change>> plan_program(const Context& context, const Prerequisite& needed);

// For apply(), before the program is run.
struct Installation {
  std::string comment;  // "Installed cron"; empty when there was nothing to do
  std::string output;   // of the package manager
};
// Fails only if the program is still missing afterwards. ErrorCode::cancelled and timed_out as Commands says.
base::Result<Installation> ensure_program(ApplyContext& context, const Prerequisite& needed);

}  // namespace states::debian
