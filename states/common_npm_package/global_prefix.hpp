// Where npm installs for the whole machine.
#pragma once

#include <string>

#include "states/context.hpp"

namespace states::common_npm_package {

// "/usr/local": the setting `prefix` as npm finds it in root's, the machine's and its own configuration; else
// where node is. From files, nothing is started. "" if npm is not there.
std::string global_prefix(Context& context);

}  // namespace states::common_npm_package
