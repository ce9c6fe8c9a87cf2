// Where Ruby keeps what it knows of installed gems.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"

namespace states::common_gem_package {

struct Specification {
  std::string version;
  std::string path;
};

// Of a gem, newest first, from the folders of the system's ruby. Each folder is listed once, and again when
// Context::facts is forgotten.
base::Result<std::vector<Specification>> specifications_of(std::string_view gem, Context& context);

}  // namespace states::common_gem_package
