// What pip says when it fails.
#pragma once

#include <string>
#include <string_view>

#include "states/language_packages/ecosystem.hpp"

namespace states::language_packages {

Reason pip_reason(std::string_view output);
std::string pip_telling_line(std::string_view output);

}  // namespace states::language_packages
