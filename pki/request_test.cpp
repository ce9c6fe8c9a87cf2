// Compiled alone: its names are those of other tests.
#include "pki/request.hpp"

#include <random>

#include <doctest/doctest.h>
#include <openssl/pem.h>

#include "pki/authority.hpp"
#include "pki/openssl.hpp"
#include "pki/pem.hpp"
#include "tests/support/openssl_program.hpp"

using namespace pki;
using tests::OpensslProgram;

namespace {

std::string refusal(std::string_view csr) {
  const auto request = Request::parse(csr);
  return request ? "accepted" : request.error().message();
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

std::string our_request() {
  const auto key = PrivateKey::generate();
  REQUIRE(key);
  const auto csr = make_request(*key);
  REQUIRE(csr);
  return *csr;
}

std::string pem_of_der(const std::string& der) {
  const ErrorScope scope;
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio(bio.get(), "CERTIFICATE REQUEST", "", reinterpret_cast<const unsigned char*>(der.data()),
                static_cast<long>(der.size()));
  return text_of(bio.get());
}

std::string der_of_pem(const std::string& pem) {
  const auto blocks = read_pem(pem, Beside::nothing, 1 << 20);
  REQUIRE(blocks);
  return blocks->front().der;
}

// A request of ours with a subject that has a NUL in it.
std::string request_with_nul(const PrivateKey& key) {
  const OwnedRequest request(X509_REQ_new());
  static constexpr char kName[] = "good\0.evil";
  X509_NAME_add_entry_by_NID(X509_REQ_get_subject_name(request.get()), NID_commonName, MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(kName), sizeof kName - 1, -1, 0);
  X509_REQ_set_pubkey(request.get(), key.get());
  REQUIRE(X509_REQ_sign(request.get(), key.get(), EVP_sha256()) > 0);
  return pem_of_der(der_of(request.get(), i2d_X509_REQ));
}

}  // namespace

TEST_CASE("openssl accepts our requests, and we accept its") {
  const OpensslProgram openssl;
  const auto key = PrivateKey::generate();
  REQUIRE(key);
  const auto csr = make_request(*key);
  REQUIRE(csr);
  openssl.folder().write("ours.csr", *csr);
  CHECK(says(openssl.must({"req", "-in", "ours.csr", "-verify", "-noout"}), "OK"));
  CHECK(Request::parse(*csr)->public_hash() == key->public_hash());

  openssl.p256_key("theirs");
  const auto request = Request::parse(openssl.request("theirs"));
  REQUIRE(request);
  CHECK(request->public_hash() == PrivateKey::parse(openssl.folder().read("theirs.key"))->public_hash());
  CHECK(Request::parse(openssl.request("theirs", {"-sha384"})));
}

TEST_CASE("what a request wishes for is ignored: the server gives the names") {
  const OpensslProgram openssl;
  openssl.p256_key("evil");
  const std::string csr = openssl.request(
      "evil", {"-addext", "subjectAltName=URI:opsagent://other/machine/1,DNS:backend", "-addext",
               "basicConstraints=CA:TRUE", "-addext", "extendedKeyUsage=serverAuth"});
  const auto now = std::chrono::system_clock::now();
  const auto authority = Authority::generate(now);
  REQUIRE(authority);
  const AgentName name{"shop", "web1", "00ff"};
  const auto key = PrivateKey::generate();
  for (const std::string& odd : {csr, request_with_nul(*key)}) {
    const auto certificate = authority->issue_agent(odd, name, now, std::chrono::hours(1));
    REQUIRE(certificate);
    CHECK(certificate->agent_name() == name);
    CHECK(certificate->subject() == "CN=00ff");
    CHECK(!certificate->is_authority());
    openssl.folder().write("made.crt", certificate->pem());
    const std::string text = openssl.must({"x509", "-in", "made.crt", "-noout", "-text"});
    for (const char* wish : {"evil", "other", "DNS:", "CA:TRUE", "Server"})
      CHECK_MESSAGE(!says(text, wish), wish);
  }
}

TEST_CASE("requests with keys of other kinds are refused in words") {
  const OpensslProgram openssl;
  openssl.key("rsa", {"-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"});
  CHECK(says(refusal(openssl.request("rsa")), "RSA of 2048 bits; it must be EC P-256"));
  openssl.p256_key("p384", "P-384");
  CHECK(says(refusal(openssl.request("p384")), "EC secp384r1; it must be"));
  openssl.key("ed", {"-algorithm", "ED25519"});
  CHECK(says(refusal(openssl.request("ed")), "ED25519; it must be"));
  openssl.key("explicit", {"-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-pkeyopt",
                           "ec_param_enc:explicit"});
  CHECK(says(refusal(openssl.request("explicit")), "named and uncompressed"));
  openssl.p256_key("plain");
  openssl.must({"ec", "-in", "plain.key", "-conv_form", "compressed", "-out", "compressed.key"});
  CHECK(says(refusal(openssl.request("compressed")), "named and uncompressed"));
  openssl.p256_key("sha1");
  CHECK(says(refusal(openssl.request("sha1", {"-sha1"})), "SHA-256"));
}

TEST_CASE("requests that are not one whole, signed request are refused") {
  const std::string csr = our_request();
  REQUIRE(refusal(csr) == "accepted");
  CHECK(says(refusal(""), "no -----BEGIN"));
  CHECK(says(refusal(csr + "x"), "beside"));
  CHECK(says(refusal("x\n" + csr), "beside"));
  CHECK(says(refusal(csr + std::string(1, '\0')), "beside"));
  CHECK(says(refusal(csr + csr), "more than one"));
  CHECK(says(refusal(csr + our_request()), "more than one"));
  CHECK(says(refusal(csr + std::string(kLargestRequest, '\n')), "larger than the 16384"));
  CHECK(says(refusal(std::string(100'000'000, 'A')), "larger than"));
  CHECK(says(refusal(pem_of_der(der_of_pem(csr) + std::string(1, '\0'))), "damaged"));
  CHECK(says(refusal(pem_of_der(std::string(8000, '\x30'))), "damaged"));
  CHECK(says(refusal(PrivateKey::generate()->pem()), "is a PRIVATE KEY"));
  // Another's signature: the one of another request, over the same kind of content.
  std::string der = der_of_pem(csr);
  der[der.size() - 1] = static_cast<char>(der[der.size() - 1] ^ 1);
  CHECK(says(refusal(pem_of_der(der)), "not signed with its own key"));
  const OpensslProgram openssl;
  openssl.p256_key("a");
  openssl.p256_key("b");
  std::string mixed = der_of_pem(openssl.request("a"));
  const std::string other = der_of_pem(openssl.request("b"));
  const std::string key_a = mixed.substr(mixed.find("\x03\x42") + 4, 64);
  mixed.replace(mixed.find(key_a), 64, other.substr(other.find("\x03\x42") + 4, 64));
  CHECK(says(refusal(pem_of_der(mixed)), "not signed with its own key"));
}

TEST_CASE("damaged requests are refused, or ask for the same key") {
  const std::string csr = our_request();
  const std::string hash = Request::parse(csr)->public_hash();
  const std::string trimmed = csr.substr(0, csr.size() - 1);
  for (std::size_t size = 0; size < trimmed.size(); ++size)
    CHECK(!Request::parse(std::string_view(trimmed).substr(0, size)));
  const std::string der = der_of_pem(csr);
  for (std::size_t size = 0; size < der.size(); ++size)
    CHECK(!Request::parse(pem_of_der(der.substr(0, size))));
  int accepted = 0;
  const auto look = [&](const std::string& damaged) {
    const auto request = Request::parse(damaged);
    if (!request) return;
    ++accepted;
    CHECK(request->public_hash() == hash);
  };
  for (std::size_t bit = 0; bit < der.size() * 8; ++bit) {
    std::string damaged = der;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    look(pem_of_der(damaged));
  }
  CHECK(accepted < 10);
  std::mt19937 random(11);
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = i % 2 ? der : csr;
    for (std::size_t n = random() % 4 + 1; n > 0; --n)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    look(i % 2 ? pem_of_der(damaged) : damaged);
  }
  CHECK(ERR_peek_error() == 0);  // TLS would take it for its own
}
