#include "pki/seal.hpp"

#include <openssl/rand.h>

#include "base/openssl.hpp"

namespace pki {

namespace {

using base::ErrorScope;
using base::Freed;

constexpr std::size_t kKey = 32, kNonce = 12, kTag = 16;

using OwnedCipher = std::unique_ptr<EVP_CIPHER_CTX, Freed<EVP_CIPHER_CTX_free>>;

unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}
const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

bool fill_randomly(std::string& text) {
  return RAND_bytes(bytes_of(text), static_cast<int>(text.size())) == 1;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) {
    hex += kDigits[static_cast<unsigned char>(byte) >> 4];
    hex += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

std::optional<std::string> from_hex(std::string_view hex) {
  const auto value = [](char digit) -> int {
    if (digit >= '0' && digit <= '9') return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
  };
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = value(hex[i]), low = value(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

}  // namespace

Seal::Seal() : key_(kKey, 0) {
  if (!fill_randomly(key_)) key_.clear();
}

std::string Seal::close(std::string_view text, std::string_view about) const {
  const ErrorScope errors;
  std::string padded(text);
  padded.resize((text.size() / kPadding + 1) * kPadding, 0);
  std::string nonce(kNonce, 0), tag(kTag, 0), hidden(padded.size(), 0);
  const OwnedCipher cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  const bool done =
      key_.size() == kKey && fill_randomly(nonce) && cipher &&
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(std::string_view(key_)),
                         bytes_of(nonce)) == 1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &size, bytes_of(about), static_cast<int>(about.size())) == 1 &&
      EVP_EncryptUpdate(cipher.get(), bytes_of(hidden), &size, bytes_of(padded),
                        static_cast<int>(padded.size())) == 1 &&
      EVP_EncryptFinal_ex(cipher.get(), nullptr, &size) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTag, tag.data()) == 1;
  return done ? to_hex(nonce + hidden + tag) : std::string();
}

std::optional<std::string> Seal::open(std::string_view sealed, std::string_view about) const {
  const ErrorScope errors;
  const auto whole = from_hex(sealed);
  if (!whole || whole->size() < kNonce + kPadding + kTag || key_.size() != kKey) return std::nullopt;
  const std::string_view nonce = std::string_view(*whole).substr(0, kNonce);
  const std::string_view hidden = std::string_view(*whole).substr(kNonce, whole->size() - kNonce - kTag);
  std::string tag = whole->substr(whole->size() - kTag);
  std::string text(hidden.size(), 0);
  const OwnedCipher cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  const bool done =
      cipher &&
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(std::string_view(key_)),
                         bytes_of(nonce)) == 1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &size, bytes_of(about), static_cast<int>(about.size())) == 1 &&
      EVP_DecryptUpdate(cipher.get(), bytes_of(text), &size, bytes_of(hidden),
                        static_cast<int>(hidden.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTag, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), nullptr, &size) == 1;
  if (!done) return std::nullopt;
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

}  // namespace pki
