// Debian version numbers, compared by dpkg's rules.
#pragma once

#include <string_view>

namespace states::debian {

// Below 0, 0 or above 0 as `a` is older than, the same as or newer than `b`. [epoch:]upstream[-revision]; in
// both parts runs of digits count as numbers, letters sort before other signs, and "~" before everything, the
// end included ("1.0~rc1" is older than "1.0").
int compare_debian_versions(std::string_view a, std::string_view b);

// Whether dpkg would take it for a version: begins with a digit, only A-Z a-z 0-9 . + - ~ and an epoch of
// digits.
bool is_debian_version(std::string_view text);

// "1:2.0-1" without its epoch.
std::string_view without_epoch(std::string_view version);

}  // namespace states::debian
