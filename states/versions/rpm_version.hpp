// Versions of rpm packages: [epoch:]version[-release].
#pragma once

#include <string_view>

namespace states::versions {

// The order of two versions, or of two releases: negative, 0 or positive.
int compare_rpm_parts(std::string_view a, std::string_view b);

// The order of two whole versions. A missing epoch is 0; the releases count where both have one.
int compare_rpm_versions(std::string_view a, std::string_view b);

bool is_rpm_version(std::string_view text);

// Without "epoch:".
std::string_view without_rpm_epoch(std::string_view version);

}  // namespace states::versions
