// From argv, environment and config file to Options.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "agent/cli/options.hpp"

namespace agent::cli {

inline constexpr const char* kDefaultConfig = "/etc/opsagent.conf";

// Where options come from; tests give their own.
struct OptionSources {
  std::vector<std::string> arguments;  // without the program's name
  std::function<const char*(const char*)> environment;
  // Read when --config is not given; may be missing.
  std::string default_config = kDefaultConfig;
};

// Command line over environment over config file; options that may be given several times merge. The error
// says everything that is wrong, one problem per line, with the nearest known name.
base::Result<Options> parse_options(const OptionSources& sources);

}  // namespace agent::cli
