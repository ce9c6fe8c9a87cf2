// Asking apt without changing anything.
//
// A plan must not write, and must find what apply will find. So what root plans is asked as root, who reads
// every source and setting, in a read-only view of the machine without a network and without root's
// privileges, and with a /tmp of its own in memory, for the temporary files that apt wants when its cache is
// old or missing. The hooks that apt would run even for a simulation (AptCli::Hooks) are left out.
//
// Where the view cannot be had (Linux before 5.12, some containers) apt is asked as nobody, or, when there is
// something of apt's that nobody may not read, as root and told of no file for its cache.
//
// Its output goes to us, not to the state's live output.
#pragma once

#include <string>
#include <vector>

#include "base/programs/process.hpp"
#include "base/result.hpp"
#include "states/context.hpp"

namespace states::debian {

enum class AptAccess {
  read_only,  // for plans
  writable,   // as root; apt may renew its caches
};

// Runs a program of apt's that only tells something: argv[0] is "apt-cache", or "apt-get" with --simulate.
// Errors as Commands::run(); a program that fails is not an error here.
base::Result<base::Completed> ask_apt(Context& context, std::vector<std::string> argv, AptAccess access);

}  // namespace states::debian
