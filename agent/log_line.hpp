// Where the daemon's parts write their lines. What it is connected to passes the redactor.
#pragma once

#include <functional>
#include <string>

namespace agent {

enum class Level { debug, info, warning, error };
using LogLine = std::function<void(Level, const std::string&)>;

}  // namespace agent
