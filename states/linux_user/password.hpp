// Passwords of accounts: what the shadow file holds, and whether it is what a recipe asks for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace states::linux_user {

// Whether the text is to be stored as it is: a crypt hash ("$y$…"), or what begins with "!" or "*", which no
// password matches ("!", "!!", "!$y$…").
bool is_hash(std::string_view text);

// The hash that the shadow file has for the user; nothing when there is no entry. Only root may ask.
base::Result<std::optional<std::string>> stored_hash(const std::string& user);

// Whether `clear_text` is the password that `hash` was made from. As slow as logging in.
bool is_password_of(std::string_view clear_text, const std::string& hash);

// A new hash with a fresh salt, by the strongest method that libcrypt offers.
base::Result<std::string> hash_of(std::string_view clear_text);

}  // namespace states::linux_user
