// What agent/cli uses of terminal/log.hpp.
#pragma once

#include "terminal/log.hpp"

namespace agent::cli {

using terminal::Log;
using terminal::LogLevel;

}  // namespace agent::cli
