// The console of `opsagent`: see terminal/console.hpp.
#pragma once

#include "agent/cli/options.hpp"
#include "terminal/console.hpp"

namespace agent::cli {

using terminal::Output;
using terminal::Paint;
using terminal::Style;
using terminal::terminal_width;

struct Console : terminal::Console {
  Console(const Options& options, std::shared_ptr<base::Redactor> the_redactor);
};

}  // namespace agent::cli
