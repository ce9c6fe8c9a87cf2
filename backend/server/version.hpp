#pragma once

#include <string_view>

namespace backend::server {

std::string_view version();

}  // namespace backend::server
