// Whether a program has the version that a recipe names by its beginning.
#pragma once

#include <string_view>

namespace states::versions {

// "7.23.0" is of version 7 and of 7.23, not of 7.2.
inline bool is_version(std::string_view found, std::string_view wanted) {
  if (!found.starts_with(wanted)) return false;
  const std::string_view rest = found.substr(wanted.size());
  return rest.empty() || rest.front() < '0' || rest.front() > '9';
}

}  // namespace states::versions
