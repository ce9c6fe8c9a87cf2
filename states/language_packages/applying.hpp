// How a state that manages packages of a language makes its plan true.
#pragma once

#include "states/context.hpp"
#include "states/language_packages/planning.hpp"
#include "states/plan.hpp"

namespace states::language_packages {

// Removes, asks the registry for the newest versions, installs. Many packages at once; where that fails, each
// by itself, so that one that cannot be had does not hold up the others. Reads the result back from disk.
Applied apply_packages(const Ecosystem& ecosystem, const Steps& steps, ApplyContext& context);

}  // namespace states::language_packages
