// Names and ids of users and groups as recipes give them, checked without looking at the machine.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace states::accounts {

// Whether this can stand in one field of /etc/passwd: no colon, no control characters.
bool is_passwd_field(std::string_view text);

// Refused is what would be taken for an option, a NIS entry or several names, or would break a line of
// /etc/passwd. Whether the system likes the rest is for its own tools to say.
base::Result<void> check_account_name(std::string_view param, std::string_view name);

// A uid or gid as text; nothing for anything else and for the largest number, which means "none".
std::optional<id_t> parse_account_id(std::string_view text);

// "Illegal value for 'home': 'x'"
base::Error illegal_value(std::string_view param, std::string_view value);

}  // namespace states::accounts
