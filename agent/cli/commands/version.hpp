// The version of this program.
#pragma once

#include <string_view>

namespace agent::cli {

extern const std::string_view kVersion;

}  // namespace agent::cli
