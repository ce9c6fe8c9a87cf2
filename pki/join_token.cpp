#include "pki/join_token.hpp"

#include <algorithm>

#include "base/sha256.hpp"
#include "base/token.hpp"

namespace pki {

namespace {

using base::Error;
using base::ErrorCode;

constexpr std::string_view kPrefix = "opsjoin1.";
constexpr std::size_t kIdBytes = 8;
constexpr std::size_t kSecretBytes =
    16;  // 128 bits cannot be guessed, and the token stays short enough to copy
constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kLength = kPrefix.size() + 2 * (kIdBytes + kSecretBytes + kHashBytes) + 2;

Error wrong(const std::string& what) {
  return Error(ErrorCode::invalid, "not a join token: " + what +
                                       "; copy all of what \"opsctl join-token create\" "
                                       "printed");
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

JoinToken make_join_token(std::string ca_hash) {
  return {base::random_hex(kIdBytes), base::random_hex(kSecretBytes), std::move(ca_hash)};
}

std::string format_join_token(const JoinToken& token) {
  return std::string(kPrefix) + token.id + "." + token.secret + "." + token.ca_hash;
}

base::Result<JoinToken> parse_join_token(std::string_view text) {
  if (!text.starts_with(kPrefix)) return wrong("it does not begin with \"" + std::string(kPrefix) + "\"");
  if (text.size() != kLength)
    return wrong("it has " + std::to_string(text.size()) + " characters and not " + std::to_string(kLength));
  std::size_t at = kPrefix.size();
  const auto take = [&](std::size_t bytes) {
    const auto part = text.substr(at, 2 * bytes);
    at += 2 * bytes + 1;  // and the dot
    return part;
  };
  const auto id = take(kIdBytes);
  const auto secret = take(kSecretBytes);
  const auto ca_hash = take(kHashBytes);
  if (id.data()[id.size()] != '.' || secret.data()[secret.size()] != '.')
    return wrong("its parts have the wrong lengths");
  if (!is_hex(id) || !is_hex(secret) || !is_hex(ca_hash))
    return wrong("it has characters other than 0-9 and a-f");
  return JoinToken{std::string(id), std::string(secret), std::string(ca_hash)};
}

std::string hash_of_secret(std::string_view secret) {
  return base::sha256_hex(secret);
}

}  // namespace pki
