#include "release/key.hpp"

#include <doctest/doctest.h>

#include "tests/support/openssl_program.hpp"
#include "tests/support/release_documents.hpp"

using namespace release;
using namespace release::testing;

TEST_CASE("a key comes back with its passphrase, and only with that") {
  const SigningKey key = new_key();
  auto pem = key.pem("correct horse");
  REQUIRE(pem);
  CHECK(pem->starts_with("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"));
  auto back = SigningKey::parse(*pem, "correct horse");
  REQUIRE_MESSAGE(back, back.error().message());
  CHECK(back->public_key().id() == key.public_key().id());
  CHECK(back->public_key().text() == key.public_key().text());

  auto wrong = SigningKey::parse(*pem, "wrong");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().message() == "wrong passphrase");
  auto damaged = SigningKey::parse(pem->substr(0, pem->size() / 2), "correct horse");
  REQUIRE_FALSE(damaged);
  CHECK(damaged.error().message().find("damaged") != std::string::npos);
  CHECK_FALSE(key.pem(""));
}

TEST_CASE("a signature is of exactly these bytes, by exactly this key") {
  const SigningKey key = new_key(), other = new_key();
  auto signature = key.sign("bytes");
  REQUIRE(signature);
  CHECK(signature->size() == 64);
  CHECK(key.public_key().verifies("bytes", *signature));
  CHECK_FALSE(key.public_key().verifies("bytez", *signature));
  CHECK_FALSE(other.public_key().verifies("bytes", *signature));
  CHECK_FALSE(key.public_key().verifies("bytes", signature->substr(1)));
}

TEST_CASE("a public key has one text") {
  const SigningKey key = new_key();
  const std::string text = key.public_key().text();
  CHECK(text.size() == 60);
  auto parsed = PublicKey::parse(text);
  REQUIRE(parsed);
  CHECK(parsed->id() == key.public_key().id());
  std::string other_padding = text;  // the character before "=" has bits that mean nothing
  other_padding[58] = static_cast<char>(other_padding[58] + 1);
  for (const std::string& bad : {std::string(), text + "\n", " " + text, text.substr(1), text + "AAAA",
                                 "N" + text.substr(1), other_padding})
    CHECK_FALSE_MESSAGE(PublicKey::parse(bad), bad);
}

TEST_CASE("openssl reads our keys and believes our signatures, and the other way round") {
  const tests::OpensslProgram openssl;
  const SigningKey key = new_key();
  auto pem = key.pem("secret");
  auto signature = key.sign("the document\n");
  REQUIRE((pem && signature));
  openssl.folder().write("our.key", *pem);
  openssl.folder().write(
      "our.pub", "-----BEGIN PUBLIC KEY-----\n" + key.public_key().text() + "\n-----END PUBLIC KEY-----\n");
  openssl.folder().write("doc", "the document\n");
  openssl.folder().write("sig", *signature);
  CHECK(openssl
            .must({"pkeyutl", "-verify", "-pubin", "-inkey", "our.pub", "-rawin", "-in", "doc", "-sigfile",
                   "sig"})
            .find("Verified Successfully") != std::string::npos);
  openssl.must({"pkey", "-in", "our.key", "-passin", "pass:secret", "-pubout", "-out", "again.pub"});
  CHECK(openssl.folder().read("again.pub") == openssl.folder().read("our.pub"));

  openssl.key("plain", {"-algorithm", "ED25519"});
  auto plain = SigningKey::parse(openssl.folder().read("plain.key"), "secret");
  REQUIRE_FALSE(plain);
  CHECK(plain.error().message().find("not encrypted") != std::string::npos);
  openssl.must(
      {"pkcs8", "-topk8", "-scrypt", "-in", "plain.key", "-passout", "pass:secret", "-out", "their.key"});
  CHECK(SigningKey::parse(openssl.folder().read("their.key"), "secret"));
  openssl.p256_key("ec");
  openssl.must({"pkcs8", "-topk8", "-in", "ec.key", "-passout", "pass:secret", "-out", "ec.enc"});
  auto curve = SigningKey::parse(openssl.folder().read("ec.enc"), "secret");
  REQUIRE_FALSE(curve);
  CHECK(curve.error().message().find("not Ed25519") != std::string::npos);
}
