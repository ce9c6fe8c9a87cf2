// How linux.apt.package makes its plan true.
#pragma once

#include "states/context.hpp"
#include "states/debian/apt_get.hpp"
#include "states/linux_apt_package/params.hpp"
#include "states/linux_apt_package/planning.hpp"
#include "states/plan.hpp"

namespace states::linux_apt_package {

// Refreshes the lists if need be, finds out what exactly to install, and only when all of that can be had
// changes anything: removed, purged, installed, each with one run of apt-get. Reads the result back.
Applied apply_packages(const Params& params, const Steps& steps, ApplyContext& context,
                       debian::AptPatience patience);

}  // namespace states::linux_apt_package
