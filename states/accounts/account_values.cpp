#include "states/accounts/account_values.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/text.hpp"

namespace states::accounts {

bool is_passwd_field(std::string_view text) {
  return std::ranges::none_of(
      text, [](char c) { return c == ':' || static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

base::Result<void> check_account_name(std::string_view param, std::string_view name) {
  constexpr std::size_t kLongest = 32;  // what utmp and the shadow tools take
  const bool is_clean = is_passwd_field(name) && name.find_first_of(" ,/") == std::string_view::npos;
  if (is_clean && !name.empty() && name.size() <= kLongest && name != "." && name != ".." &&
      std::string_view("-+~").find(name.front()) == std::string_view::npos)
    return {};
  return illegal_value(param, name);
}

std::optional<id_t> parse_account_id(std::string_view text) {
  const auto number = base::parse_integer(text);
  if (!number || *number < 0 || *number >= std::numeric_limits<id_t>::max()) return std::nullopt;
  return static_cast<id_t>(*number);
}

base::Error illegal_value(std::string_view param, std::string_view value) {
  return base::Error(base::ErrorCode::invalid,
                     "Illegal value for '" + std::string(param) + "': '" + std::string(value) + "'");
}

}  // namespace states::accounts
