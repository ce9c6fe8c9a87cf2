// Versions and version specifiers of Python's packages, by the rules of the Python Packaging Authority
// ("Version specifiers", once PEP 440).
#pragma once

#include <string_view>

namespace states::versions {

bool is_python_version(std::string_view text);

// The order of two versions: negative, 0 or positive. Texts that are no versions come before all that are.
int compare_python_versions(std::string_view a, std::string_view b);

// ">=1.2, !=1.4", "==1.*", "~=2.0"; a version alone is none.
bool is_python_specifier(std::string_view text);

// Whether a version is one of those that a specifier, or a version alone, means.
bool matches_python_specifier(std::string_view version, std::string_view wanted);

}  // namespace states::versions
