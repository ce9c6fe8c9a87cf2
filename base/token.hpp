// Secrets that are compared, never computed with.
#pragma once

#include <string>
#include <string_view>

namespace base {

// `bytes` random bytes from the kernel, as hexadecimal digits.
std::string random_hex(std::size_t bytes);

// Whether two texts are equal, in a time that depends on their lengths only.
bool equal_in_constant_time(std::string_view a, std::string_view b);

}  // namespace base
