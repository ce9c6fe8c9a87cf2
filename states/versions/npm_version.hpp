// Versions of npm's packages, and ranges of them: semantic versions with npm's rules.
#pragma once

#include <string_view>

namespace states::versions {

// "1.2.3", "1.2.3-beta.1"
bool is_npm_version(std::string_view text);

// The order of two versions: negative, 0 or positive. Texts that are no versions come before all that are.
int compare_npm_versions(std::string_view a, std::string_view b);

// "^1.2", "~1.2.3", ">=1 <3 || 5.x", "1.2 - 1.4"; also a version alone.
bool is_npm_range(std::string_view text);

bool matches_npm_range(std::string_view version, std::string_view range);

}  // namespace states::versions
