#include "pki/openssl.hpp"

namespace pki {

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

std::string spki_of(const EVP_PKEY* key) {
  return der_of(key, [](const EVP_PKEY* from, unsigned char** to) { return i2d_PUBKEY(from, to); });
}

std::string describe_key(const EVP_PKEY* key) {
  if (EVP_PKEY_is_a(key, "RSA")) return "RSA of " + std::to_string(EVP_PKEY_get_bits(key)) + " bits";
  char group[64] = {};
  if (EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, group, sizeof group, nullptr) == 1)
    return std::string("EC ") + group;
  const char* name = EVP_PKEY_get0_type_name(key);
  return name ? name : "of an unknown kind";
}

bool is_p256(std::string_view spki) {
  // SEQUENCE { SEQUENCE { id-ecPublicKey, prime256v1 }, BIT STRING { 04, x, y } }
  static constexpr std::string_view kStart(
      "\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42"
      "\x00\x04",
      27);
  return spki.size() == kStart.size() + 64 && spki.starts_with(kStart);
}

}  // namespace pki
