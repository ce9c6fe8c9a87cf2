// From argv and environment to Options.
#pragma once

#include "ctl/options.hpp"
#include "terminal/command_parser.hpp"

namespace ctl {

// The commands and options of opsctl.
const terminal::CommandTable& command_table();

// Command line over environment. The error says everything that is wrong, one problem per line, with the
// nearest known name and what to do next.
base::Result<Options> parse_options(const terminal::OptionSources& sources);

}  // namespace ctl
