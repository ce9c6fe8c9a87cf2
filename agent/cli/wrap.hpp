// What agent/cli uses of terminal/wrap.hpp.
#pragma once

#include "terminal/wrap.hpp"

namespace agent::cli {

using terminal::display_width;
using terminal::join_lines;
using terminal::printable;
using terminal::wrap;

}  // namespace agent::cli
