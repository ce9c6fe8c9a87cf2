// The config file: options as lines.
//
//   # a remark (; works too)
//   [main]                       section headers are accepted and mean nothing
//   state_dir = /var/lib/opsagent
//   --round-delay=60             as on the command line
//   --json                       flags need no value
//
// Values are taken as they stand, without the blanks around them and one pair of quotes. Dashes and
// underscores in names are the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace base {

struct Setting {
  std::string name;  // with dashes: "state-dir"
  std::string value;
  bool has_value = false;  // "--json" has none
  std::size_t line = 0;
};

struct ConfigFile {
  std::vector<Setting> settings;
  std::vector<std::string> problems;  // "opsagent.conf:3: …"
};

// Reads the lines; what names mean is the caller's business.
ConfigFile parse_config(std::string_view text, std::string_view file_name);

// "state_dir" and "STATE_DIR" are the option "state-dir".
std::string option_name(std::string_view name);

inline constexpr std::size_t kLargestConfig = 1024 * 1024;

}  // namespace base
