#include "modules/git/known_host_name.hpp"

#include <array>

#include <openssl/hmac.h>

#include "base/text.hpp"
#include "modules/git/openssl.hpp"

namespace modules::git {

bool is_hashed_name_of(std::string_view hashed, const std::string& name) {
  if (!hashed.starts_with("|1|")) return false;
  const std::vector<std::string_view> parts = base::split(hashed.substr(3), '|');
  const auto salt = parts.size() == 2 ? decode_base64(parts[0]) : std::nullopt;
  const auto wanted = parts.size() == 2 ? decode_base64(parts[1]) : std::nullopt;
  if (!salt || !wanted) return false;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (HMAC(EVP_sha1(), salt->data(), static_cast<int>(salt->size()), octets(name), name.size(), digest.data(),
           &size) == nullptr)
    return false;
  return std::string_view(reinterpret_cast<const char*>(digest.data()), size) == *wanted;
}

}  // namespace modules::git
