#pragma once

#include <string_view>

namespace backend {

std::string_view version();

}  // namespace backend
