// How linux.yum.package makes its plan true.
#pragma once

#include "states/context.hpp"
#include "states/linux_yum_package/planning.hpp"
#include "states/plan.hpp"

namespace states::linux_yum_package {

// Asks the repositories, and only when all that is wanted can be had changes anything: removed, downgraded,
// installed, each with one run of dnf. Reads the result back.
Applied apply_packages(const Params& params, const Steps& steps, ApplyContext& context);

}  // namespace states::linux_yum_package
