#include "ctl/options/command_line.hpp"

namespace ctl {

base::Result<Options> parse_options(const terminal::OptionSources& sources) {
  return terminal::parse_command_line<Options>(command_table(), sources);
}

}  // namespace ctl
