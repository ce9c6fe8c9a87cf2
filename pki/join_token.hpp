// Join tokens: what an operator gives a new machine. The text carries the hash of the CA's public key, so
// that the machine can check the server that it meets first. Pure functions, but for randomness.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pki {

struct JoinToken {
  std::string id;       // 16 hexadecimal digits; may be shown
  std::string secret;   // 32 hexadecimal digits; only its hash is stored
  std::string ca_hash;  // SHA-256 of the CA's public key, 64 hexadecimal digits
  bool operator==(const JoinToken&) const = default;
};

// A new one, random.
JoinToken make_join_token(std::string ca_hash);

// opsjoin1.<id>.<secret>.<ca_hash>
std::string format_join_token(const JoinToken& token);

// Exactly that, in lower case, with nothing around it. The error says what is wrong and never repeats the
// text.
base::Result<JoinToken> parse_join_token(std::string_view text);

// SHA-256, 64 hexadecimal digits: what is stored. The secret is random, so it needs no slow hash.
std::string hash_of_secret(std::string_view secret);

}  // namespace pki
