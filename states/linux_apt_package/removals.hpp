// What linux.apt.package runs, in which order, and what that removes besides what the recipe names.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/debian/apt_transaction.hpp"
#include "states/linux_apt_package/choosing.hpp"
#include "states/linux_apt_package/params.hpp"
#include "states/linux_apt_package/planning.hpp"

namespace states::linux_apt_package {

struct Stages {
  std::vector<debian::AptTransaction> runs;  // one after the other
  std::vector<debian::AptRemoval> unnamed;   // removed by them, and not named by the recipe
};

// What a transaction would remove.
using Forecast =
    std::function<base::Result<std::vector<debian::AptRemoval>>(const debian::AptTransaction& transaction)>;

// One run for everything where that is possible, so that what needs one of several packages keeps working
// while one replaces the other. But apt-get removes or purges all of a run: where some packages are purged
// and others removed, the removal, the purge and the installation are a run each, in this order.
base::Result<Stages> arrange(const std::vector<Item>& items, const Chosen& chosen,
                             const std::vector<std::string>& options, const Forecast& forecast);

// The options of apt-get that the parameters and the choice ask for.
std::vector<std::string> install_options(const Params& params, const Chosen& chosen, const Host& host);

// An error if packages would be removed that must not be: not named and not permitted, or wanted by the
// recipe.
base::Result<void> check_removals(const std::vector<Item>& items,
                                  const std::vector<debian::AptRemoval>& unnamed, bool allow_removals);

// All that may be removed: what the recipe names, and these.
std::vector<std::string> permitted_names(const std::vector<Item>& items,
                                         const std::vector<debian::AptRemoval>& unnamed);

std::vector<std::string> names_of(const std::vector<debian::AptRemoval>& removals);

}  // namespace states::linux_apt_package
