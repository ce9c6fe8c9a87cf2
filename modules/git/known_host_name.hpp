// Hashed names in OpenSSH's known_hosts files. Pure.
#pragma once

#include <string>
#include <string_view>

namespace modules::git {

// Whether `hashed` ("|1|SALT|HASH", HMAC-SHA1) stands for the name.
bool is_hashed_name_of(std::string_view hashed, const std::string& name);

}  // namespace modules::git
