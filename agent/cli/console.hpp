// The console that the options of opsagent ask for.
#pragma once

#include "agent/cli/options/options.hpp"
#include "terminal/console.hpp"

namespace agent::cli {

terminal::Console make_console(const Options& options, std::shared_ptr<base::Redactor> redactor);

}  // namespace agent::cli
