// Base64, as in RFC 4648, section 4.
#pragma once

#include <string>
#include <string_view>

namespace base {

std::string base64(std::string_view bytes);

}  // namespace base
