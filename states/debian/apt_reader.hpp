// Asking apt without changing anything.
//
// A plan must not write, and apt's programs renew their own cache files when they may: for plans they run as
// nobody, and with a /tmp of their own in memory, for the temporary files that they want when the cache is
// old or missing. Their output goes to us, not to the state's live output.
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
