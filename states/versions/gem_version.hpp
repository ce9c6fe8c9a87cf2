// Versions of Ruby's gems, and requirements of them.
#pragma once

#include <string_view>

namespace states::versions {

// "1.2.3", "2.0.0.rc1"
bool is_gem_version(std::string_view text);

// The order of two versions: negative, 0 or positive.
int compare_gem_versions(std::string_view a, std::string_view b);

// "~> 1.2, != 1.2.5"; also a version alone.
bool is_gem_requirement(std::string_view text);

bool matches_gem_requirement(std::string_view version, std::string_view requirement);

}  // namespace states::versions
