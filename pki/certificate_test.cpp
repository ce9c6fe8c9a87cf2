// Compiled alone: its names are those of other tests.
#include "pki/certificate.hpp"

#include <random>

#include <doctest/doctest.h>
#include <openssl/pem.h>

#include "base/sha256.hpp"
#include "pki/authority.hpp"
#include "pki/issue.hpp"
#include "pki/openssl.hpp"
#include "pki/pem.hpp"
#include "pki/verify.hpp"
#include "tests/support/openssl_program.hpp"

using namespace pki;
using namespace std::chrono_literals;

namespace {

const AgentName kName{"shop", "web1", "00ff"};
const std::string kUri = "opsagent://shop/web1/00ff";

Instant now() {
  return std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
}

// A certificate as somebody could make it who has the CA's key but not our rules.
Certificate odd(std::vector<AltName> names, Usage usage = Usage::agent, std::string common_name = "00ff") {
  const auto key = PrivateKey::generate();
  REQUIRE(key);
  auto made =
      issue({std::move(common_name), key->get(), usage, std::move(names), now(), now() + 1h}, *key, nullptr);
  REQUIRE(made);
  return *made;
}

Certificate with_extension_twice(const Certificate& certificate, int kind) {
  X509* copy = X509_dup(certificate.get());
  X509_add_ext(copy, X509_get_ext(copy, X509_get_ext_by_NID(copy, kind, -1)), -1);
  auto wrapped = Certificate::wrap(std::shared_ptr<X509>(copy, X509_free));
  // OpenSSL itself calls it damaged, or we do: then there is nothing to name anybody.
  return wrapped ? *wrapped : odd({});
}

std::string pem_of_der(const std::string& der) {
  const ErrorScope scope;
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio(bio.get(), "CERTIFICATE", "", reinterpret_cast<const unsigned char*>(der.data()),
                static_cast<long>(der.size()));
  return text_of(bio.get());
}

}  // namespace

TEST_CASE("only a certificate made for an agent names one") {
  using Kind = AltName::Kind;
  REQUIRE(odd({{Kind::uri, kUri}}).agent_name() == kName);
  CHECK(!odd({}).agent_name());
  CHECK(!odd({{Kind::uri, kUri}}, Usage::server).agent_name());
  CHECK(!odd({{Kind::uri, kUri}}, Usage::authority).agent_name());
  CHECK(!odd({{Kind::uri, kUri}, {Kind::uri, kUri}}).agent_name());
  CHECK(!odd({{Kind::uri, kUri}, {Kind::dns, "web1"}}).agent_name());
  CHECK(!odd({{Kind::dns, kUri}}).agent_name());
  CHECK(!odd({{Kind::uri, kUri}}, Usage::agent, "other").agent_name());
  CHECK(!with_extension_twice(odd({{Kind::uri, kUri}}), NID_subject_alt_name).agent_name());
  CHECK(!with_extension_twice(odd({{Kind::uri, kUri}}), NID_ext_key_usage).agent_name());
}

TEST_CASE("a name in a certificate with anything strange in it names nobody") {
  for (const std::string& uri : {std::string(),
                                 std::string("opsagent://"),
                                 std::string("opsagent://shop/web1"),
                                 kUri + "/",
                                 kUri + "/x",
                                 "x" + kUri,
                                 std::string("opsagent:///web1/00ff"),
                                 std::string("opsagent://shop//00ff"),
                                 std::string("opsagent://shop/../00ff"),
                                 std::string("OPSAGENT://shop/web1/00ff"),
                                 std::string("opsagent://shop/we b/00ff"),
                                 std::string("opsagent://shop/we%62/00ff"),
                                 std::string("opsagent://shop/web1\n/00ff"),
                                 std::string("opsagent://sh\0p/web1/00ff", 25),
                                 kUri + std::string(1, '\0'),
                                 std::string("opsagent://shop/w\xe2\x80\xae/00ff"),
                                 kUri + "?x",
                                 kUri + "#x",
                                 std::string("opsagent://root@shop/web1/00ff"),
                                 "opsagent://" + std::string(129, 'a') + "/web1/00ff"}) {
    CHECK_MESSAGE(!parse_agent_uri(uri), uri);
    CHECK_MESSAGE(!odd({{AltName::Kind::uri, uri}}).agent_name(), uri);
  }
}

TEST_CASE("a certificate is read as openssl reads it") {
  const tests::OpensslProgram openssl;
  openssl.p256_key("a");
  const std::string pem = openssl.certificate("a", {"basicConstraints=CA:FALSE"});
  const auto certificate = Certificate::parse(pem);
  REQUIRE(certificate);
  CHECK(certificate->pem() == pem);
  CHECK(certificate->subject() == "CN=a");
  CHECK(!certificate->is_authority());
  CHECK(certificate->not_after() - certificate->not_before() == 24h * 30);
  std::string serial = openssl.must({"x509", "-in", "a.crt", "-noout", "-serial"}).substr(7);
  for (char& c : serial)
    c = static_cast<char>(std::tolower(c));
  CHECK(serial == certificate->serial() + "\n");
  openssl.must({"pkey", "-in", "a.key", "-pubout", "-outform", "DER", "-out", "spki"});
  CHECK(base::sha256_hex(openssl.folder().read("spki")) == certificate->public_hash());

  CHECK(!Certificate::parse(pem + pem));
  CHECK(!Certificate::parse("x" + pem));
  CHECK(!Certificate::parse(pem_of_der("\x30\x03\x02\x01\x01")));
  CHECK(Certificate::parse_chain("# first\n" + pem + "# again\n" + pem)->size() == 2);
  std::string many;
  for (int i = 0; i < 17; ++i)
    many += pem;
  CHECK(!Certificate::parse_chain(many));
  // The year 9999, which nanoseconds in 64 bits cannot hold.
  const auto for_ever = Certificate::parse(openssl.certificate("a", {}, {}, {"-days", "2900000"}));
  REQUIRE(for_ever);
  CHECK(for_ever->not_after() > now() + 24h * 365 * 100);
}

TEST_CASE("a subject cannot write into a log") {
  CHECK(odd({}, Usage::agent, "a\nb\x1b[2J").subject() == "CN=a\\0Ab\\1B[2J");
}

TEST_CASE("damaged certificates are refused, do not verify, or are the same") {
  const auto authority = Authority::generate(now());
  const auto csr = make_request(*PrivateKey::generate());
  const auto good = authority->issue_agent(*csr, kName, now(), 1h);
  REQUIRE(good);
  const auto roots = Certificate::parse_chain(authority->chain_pem());
  const std::string pem = good->pem();
  for (std::size_t size = 0; size + 1 < pem.size(); ++size)
    CHECK(!Certificate::parse(std::string_view(pem).substr(0, size)));
  const std::string der = read_pem(pem, Beside::nothing, 1 << 20)->front().der;
  int verified = 0;
  const auto look = [&](const std::string& damaged) {
    const auto read = Certificate::parse(damaged);
    if (!read) return;
    read->subject();
    const auto name = read->agent_name();
    if (!verify({*read}, *roots, Purpose::agent, now())) return;
    ++verified;
    CHECK(name == kName);
    CHECK(read->serial() == good->serial());
    CHECK(read->public_hash() == good->public_hash());
  };
  for (std::size_t bit = 0; bit < der.size() * 8; ++bit) {
    std::string damaged = der;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    look(pem_of_der(damaged));
  }
  CHECK(verified < 10);
  std::mt19937 random(5);
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = i % 2 ? der : pem;
    for (std::size_t n = random() % 4 + 1; n > 0; --n)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    look(i % 2 ? pem_of_der(damaged) : damaged);
  }
  CHECK(ERR_peek_error() == 0);  // TLS would take it for its own
}
