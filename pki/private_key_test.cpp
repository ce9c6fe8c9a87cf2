// Compiled alone: its names are those of other tests.
#include "pki/private_key.hpp"

#include <random>

#include <doctest/doctest.h>

#include "base/sha256.hpp"
#include "pki/openssl.hpp"
#include "tests/support/openssl_program.hpp"

using namespace pki;
using tests::OpensslProgram;

namespace {

std::string refusal(const base::Result<PrivateKey>& key) {
  return key ? "accepted" : key.error().message();
}
bool says(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("a key that was written is read back, and openssl agrees on its hash") {
  const OpensslProgram openssl;
  const auto key = PrivateKey::generate();
  REQUIRE(key);
  CHECK(key->pem().starts_with("-----BEGIN PRIVATE KEY-----\n"));
  const auto read = PrivateKey::parse(key->pem());
  REQUIRE(read);
  CHECK(read->public_hash() == key->public_hash());
  CHECK(read->pem() == key->pem());
  CHECK(PrivateKey::generate()->public_hash() != key->public_hash());

  openssl.folder().write("our.key", key->pem());
  CHECK(says(openssl.must({"pkey", "-in", "our.key", "-check", "-noout", "-text"}), "ASN1 OID: prime256v1"));
  openssl.must({"pkey", "-in", "our.key", "-pubout", "-outform", "DER", "-out", "our.spki"});
  CHECK(base::sha256_hex(openssl.folder().read("our.spki")) == key->public_hash());
}

TEST_CASE("keys of the forms that people have are read, others are refused in words") {
  const OpensslProgram openssl;
  const auto file = [&](const std::string& name) { return openssl.folder().read(name); };
  openssl.must({"ecparam", "-name", "prime256v1", "-genkey", "-out", "old.key"});
  CHECK(PrivateKey::parse(file("old.key")));  // with EC PARAMETERS in front
  openssl.p256_key("p384", "P-384");
  CHECK(says(refusal(PrivateKey::parse(file("p384.key"))), "EC secp384r1; it must be EC P-256"));
  CHECK(PrivateKey::parse_brought(file("p384.key")));
  openssl.key("ed", {"-algorithm", "ED25519"});
  CHECK(PrivateKey::parse_brought(file("ed.key")));
  openssl.must({"genrsa", "-traditional", "-out", "rsa.key", "2048"});
  CHECK(says(file("rsa.key"), "BEGIN RSA PRIVATE KEY"));
  CHECK(PrivateKey::parse_brought(file("rsa.key")));
  openssl.must({"genrsa", "-out", "weak.key", "1024"});
  CHECK(says(refusal(PrivateKey::parse_brought(file("weak.key"))), "RSA of 1024 bits; it must be"));
  openssl.p256_key("p521", "P-521");
  CHECK(says(refusal(PrivateKey::parse_brought(file("p521.key"))), "EC secp521r1; it must be"));

  // Nobody sits at a service's terminal. An agent's own key has no passphrase.
  openssl.must({"pkcs8", "-topk8", "-in", "old.key", "-passout", "pass:x", "-out", "locked.key"});
  CHECK(says(refusal(PrivateKey::parse_brought(file("locked.key"))), "encrypted"));
  CHECK(says(refusal(PrivateKey::parse(file("locked.key"))), "encrypted"));
  openssl.must({"ec", "-in", "old.key", "-aes128", "-passout", "pass:x", "-out", "locked2.key"});
  CHECK(says(refusal(PrivateKey::parse_brought(file("locked2.key"), "x")), "openssl pkcs8 -topk8"));
  CHECK(says(refusal(PrivateKey::parse(file("old.key") + file("p384.key"))), "exactly one"));
  openssl.must({"pkey", "-in", "old.key", "-pubout", "-out", "public.key"});
  CHECK(says(refusal(PrivateKey::parse(file("public.key"))), "PUBLIC KEY where a private key belongs"));
}

TEST_CASE("an encrypted key is opened by its passphrase, and by no other") {
  const OpensslProgram openssl;
  const auto file = [&](const std::string& name) { return openssl.folder().read(name); };
  openssl.p256_key("plain");
  const std::string hash = PrivateKey::parse(file("plain.key"))->public_hash();
  openssl.must({"pkcs8", "-topk8", "-in", "plain.key", "-passout", "pass:right one", "-out", "pbkdf2.key"});
  openssl.must(
      {"pkcs8", "-topk8", "-scrypt", "-in", "plain.key", "-passout", "pass:right one", "-out", "scrypt.key"});
  const auto ours = PrivateKey::parse(file("plain.key"))->pem("right one");
  REQUIRE(ours);
  openssl.folder().write("ours.key", *ours);
  for (const std::string name : {"pbkdf2.key", "scrypt.key", "ours.key"}) {
    CAPTURE(name);
    CHECK(PrivateKey::is_encrypted(file(name)));
    const auto read = PrivateKey::parse_brought(file(name), "right one");
    REQUIRE_MESSAGE(read, refusal(read));
    CHECK(read->public_hash() == hash);
    for (const char* wrong : {"right on", "right one ", "wrong"}) {
      const auto refused = PrivateKey::parse_brought(file(name), wrong);
      REQUIRE(!refused);
      CHECK(refused.error().code() == base::ErrorCode::permission);
      CHECK(says(refused.error().message(), "the passphrase is not the one"));
      CHECK(!says(refused.error().message(), wrong));
    }
    CHECK(says(refusal(PrivateKey::parse_brought(file(name))), "there is no passphrase"));
  }
  // openssl(1) opens what we have written.
  openssl.must({"pkey", "-in", "ours.key", "-passin", "pass:right one", "-check", "-noout"});
  CHECK(!says(*ours, PrivateKey::parse(file("plain.key"))->pem().substr(40, 20)));
  CHECK(!PrivateKey::is_encrypted(file("plain.key")));
  CHECK(PrivateKey::parse_brought(file("plain.key"), "not needed"));
  CHECK(!PrivateKey::parse(file("plain.key"))->pem(""));
  CHECK(ERR_peek_error() == 0);
}

TEST_CASE("a damaged key is refused, or is the same key, and is never in the message") {
  const auto key = PrivateKey::generate();
  REQUIRE(key);
  const std::string pem = key->pem();
  for (std::size_t size = 0; size + 1 < pem.size(); ++size)
    CHECK(!PrivateKey::parse(std::string_view(pem).substr(0, size)));
  std::mt19937 random(3);
  for (int i = 0; i < 1500; ++i) {
    std::string damaged = pem;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto read = PrivateKey::parse(damaged);
    if (read)
      CHECK(read->public_hash() == key->public_hash());
    else
      CHECK(!says(read.error().message(), pem.substr(40, 10)));
  }
  CHECK(ERR_peek_error() == 0);
}
