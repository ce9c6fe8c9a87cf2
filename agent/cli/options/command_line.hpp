// From argv, environment and config file to Options.
#pragma once

#include "agent/cli/options/options.hpp"
#include "terminal/command_parser.hpp"

namespace agent::cli {

inline constexpr const char* kDefaultConfig = "/etc/opsagent.conf";

// The commands and options of opsagent.
const terminal::CommandTable& command_table();

// Command line over environment over config file; options that may be given several times merge. The error
// says everything that is wrong, one problem per line, with the nearest known name.
base::Result<Options> parse_options(const terminal::OptionSources& sources);

}  // namespace agent::cli
