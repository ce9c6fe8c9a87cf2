// What backend/ uses of terminal/log.hpp.
#pragma once

#include "terminal/log.hpp"

namespace backend {

using terminal::Log;
using terminal::LogLevel;

}  // namespace backend
