#include "transport/tls/ticket_keys.hpp"

#include <algorithm>

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

namespace transport {
namespace {

void free_keys(void*, void* data, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<std::shared_ptr<TicketKeys>*>(data);
}

int keys_index() {
  static const int index = ::SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, free_keys);
  return index;
}

bool set_mac_key(EVP_MAC_CTX* mac, TicketKeys::Key& key) {
  char digest[] = "SHA256";
  const std::array<OSSL_PARAM, 3> with = {
      ::OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.mac.data(), key.mac.size()),
      ::OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), ::OSSL_PARAM_construct_end()};
  return ::EVP_MAC_CTX_set_params(mac, with.data()) == 1;
}

constexpr int kFailed = -1;
constexpr int kNone = 0;  // a full handshake
constexpr int kUsed = 1;
constexpr int kRenew = 2;

int make_ticket(TicketKeys& keys, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                EVP_MAC_CTX* mac) {
  auto key = keys.current(std::chrono::steady_clock::now());
  if (!key) return kNone;
  std::ranges::copy(key->name, name);
  const bool fine =
      ::RAND_bytes(iv, ::EVP_CIPHER_get_iv_length(::EVP_aes_256_cbc())) == 1 &&
      ::EVP_EncryptInit_ex2(cipher, ::EVP_aes_256_cbc(), key->cipher.data(), iv, nullptr) == 1 &&
      set_mac_key(mac, *key);
  return fine ? kUsed : kFailed;
}

int open_ticket(SSL* ssl, TicketKeys& keys, const unsigned char* name, const unsigned char* iv,
                EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac) {
  auto found = keys.find(name, std::chrono::steady_clock::now());
  if (!found) return kNone;
  if (!set_mac_key(mac, found->key) ||
      ::EVP_DecryptInit_ex2(cipher, ::EVP_aes_256_cbc(), found->key.cipher.data(), iv, nullptr) != 1)
    return kFailed;
  // With TLS 1.3 a client uses a ticket once.
  return found->is_old || ::SSL_version(ssl) >= TLS1_3_VERSION ? kRenew : kUsed;
}

int on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
              int is_new) {
  const auto* keys =
      static_cast<std::shared_ptr<TicketKeys>*>(::SSL_CTX_get_ex_data(::SSL_get_SSL_CTX(ssl), keys_index()));
  if (!keys) return kFailed;
  return is_new == 1 ? make_ticket(**keys, name, iv, cipher, mac)
                     : open_ticket(ssl, **keys, name, iv, cipher, mac);
}

}  // namespace

TicketKeys::Key::~Key() {
  ::OPENSSL_cleanse(cipher.data(), cipher.size());
  ::OPENSSL_cleanse(mac.data(), mac.size());
}

void TicketKeys::drop_old(TimePoint now) {
  if (current_ && now - current_->at >= period_) {
    previous_ = current_;
    current_.reset();
  }
  if (previous_ && now - previous_->at >= 2 * period_) previous_.reset();
}

std::optional<TicketKeys::Key> TicketKeys::current(TimePoint now) {
  const std::scoped_lock lock(mutex_);
  drop_old(now);
  if (!current_) {
    Made made{.key = {}, .at = now};
    if (::RAND_bytes(made.key.name.data(), static_cast<int>(made.key.name.size())) != 1 ||
        ::RAND_priv_bytes(made.key.cipher.data(), static_cast<int>(made.key.cipher.size())) != 1 ||
        ::RAND_priv_bytes(made.key.mac.data(), static_cast<int>(made.key.mac.size())) != 1)
      return std::nullopt;
    current_ = made;
  }
  return current_->key;
}

std::optional<TicketKeys::Found> TicketKeys::find(const unsigned char* name, TimePoint now) {
  const std::scoped_lock lock(mutex_);
  drop_old(now);
  const auto is_named = [&](const std::optional<Made>& made) {
    return made && std::equal(made->key.name.begin(), made->key.name.end(), name);
  };
  if (is_named(current_)) return Found{.key = current_->key, .is_old = false};
  if (is_named(previous_)) return Found{.key = previous_->key, .is_old = true};
  return std::nullopt;
}

bool TicketKeys::use(SSL_CTX* context, std::shared_ptr<TicketKeys> keys) {
  auto held = std::make_unique<std::shared_ptr<TicketKeys>>(std::move(keys));
  if (::SSL_CTX_set_ex_data(context, keys_index(), held.get()) != 1) return false;
  (void)held.release();
  return ::SSL_CTX_set_tlsext_ticket_key_evp_cb(context, on_ticket) == 1;
}

}  // namespace transport
