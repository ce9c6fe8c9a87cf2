// From argv and environment to Options.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ctl/options.hpp"

namespace ctl {

// Where options come from; tests give their own.
struct OptionSources {
  std::vector<std::string> arguments;  // without the program's name
  std::function<const char*(const char*)> environment;
};

// Command line over environment. The error says everything that is wrong, one problem per line, with the
// nearest known name and what to do next.
base::Result<Options> parse_options(const OptionSources& sources);

}  // namespace ctl
