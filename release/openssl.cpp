#include "release/openssl.hpp"

namespace release {

std::string to_base64(std::string_view bytes) {
  // EVP_EncodeBlock() adds a NUL.
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::optional<std::string> from_base64(std::string_view text, std::size_t size) {
  if (text.size() != (size + 2) / 3 * 4) return std::nullopt;
  const ErrorScope scope;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int decoded =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (decoded < 0 || static_cast<std::size_t>(decoded) < size) return std::nullopt;
  bytes.resize(size);
  // The decoder is lenient with blanks and with bits that padding leaves unused.
  if (to_base64(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace release
