#include "backend/domain/access/operator_token.hpp"

#include <algorithm>

#include "base/sha256.hpp"
#include "base/token.hpp"

namespace backend::domain {

namespace {

constexpr std::string_view kPrefix = "ops_";
constexpr std::size_t kIdBytes = 8;
constexpr std::size_t kSecretBytes = 32;

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

OperatorSecret make_operator_token() {
  return {base::random_hex(kIdBytes), base::random_hex(kSecretBytes)};
}

std::string format_operator_token(const OperatorSecret& token) {
  return std::string(kPrefix) + token.id + "_" + token.secret;
}

TokenProof proof_of_token(std::string_view text) {
  constexpr std::size_t kSecretAt = kPrefix.size() + 2 * kIdBytes + 1;
  if (text.starts_with(kPrefix) && text.size() == kSecretAt + 2 * kSecretBytes &&
      text[kSecretAt - 1] == '_') {
    const std::string_view id = text.substr(kPrefix.size(), 2 * kIdBytes);
    if (is_hex(id)) return {std::string(id), base::sha256_hex(text.substr(kSecretAt))};
  }
  std::string hash = base::sha256_hex(text);
  return {"text-" + hash.substr(0, 2 * kIdBytes), std::move(hash)};
}

}  // namespace backend::domain
