// Values as text for programs: JSON in lines, YAML.
#pragma once

#include <string>

#include "base/values/value.hpp"

namespace ctl {

// Indented by two, with a newline at the end.
std::string pretty_json(const base::Value& value);

// One YAML document. Text that a reader could take for something else is quoted; text of several lines is a
// block.
std::string yaml_text(const base::Value& value);

}  // namespace ctl
