// Programs that a module needs and that may be missing: installed from the distribution's package on demand,
// in the way linux.apt.package installs.
//
//   constexpr prerequisites::Prerequisite kGit{"common.git", "git", {"git"}, {"git"}};
//
// plan() asks plan_program(), which says in the plan what would be installed; apply() calls ensure_program()
// before it runs the program. For programs of the running system only. A program that is there costs a look
// at it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/plan.hpp"

namespace states::prerequisites {

// Names of packages, most wanted first; those that are not needed are "".
using Packages = std::array<std::string_view, 3>;

// One row of the modules' needs. The first package that the distribution offers is installed.
struct Prerequisite {
  std::string_view module;   // for messages
  std::string_view program;  // searched in the system's PATH folders
  Packages debian_packages;
  Packages rhel_packages;
  // Where more is needed than a program of that name: whether it is there. Reads, starts nothing.
  bool (*is_there)(Context& context) = nullptr;
};

// For plan(): adds to `plan`, in front, the change and the effect that installing it would be; nothing when
// it is there, or when an earlier state of the recipe would install the package. Answers whether it is there
// now, so that the plan itself could use it. An error when it is missing and this distribution has no package
// for it: "Cannot run <module>: '<program>' is missing".
base::Result<bool> plan_program(Context& context, const Prerequisite& needed, Plan& plan);

// For touched(): the packages that could ever be installed for it.
std::vector<Effect> possible_packages(const Prerequisite& needed);

// For apply(), before the program is run.
struct Installation {
  std::string comment;  // "Installed cron"; empty when there was nothing to do
  std::string output;   // of the package manager

  // The comment of what the state has done then, with this one in front.
  std::string before(std::string text) const { return comment.empty() ? text : comment + "\n\n" + text; }
};
// Fails only if the program is still missing afterwards: "Cannot run <module>: '<program>' is missing and
// package '<package>' could not be installed: …". ErrorCode::cancelled and timed_out as Commands says.
base::Result<Installation> ensure_program(ApplyContext& context, const Prerequisite& needed);

}  // namespace states::prerequisites
