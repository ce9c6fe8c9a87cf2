// CAs that operators bring, made by openssl(1).
#include <doctest/doctest.h>

#include "pki/authority.hpp"
#include "tests/support/openssl_program.hpp"

using namespace pki;
using namespace std::chrono_literals;
using tests::OpensslProgram;

namespace {

const std::vector<std::string> kCa{"basicConstraints=critical,CA:TRUE",
                                   "keyUsage=critical,keyCertSign,cRLSign", "subjectKeyIdentifier=hash"};

Instant now() {
  return std::chrono::system_clock::now();
}
bool says(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

std::string refusal(const base::Result<Authority>& authority) {
  return authority ? "accepted" : authority.error().message();
}

class Brought : public OpensslProgram {
 public:
  base::Result<Authority> parse(const std::string& chain, const std::string& key_of,
                                Instant when = now()) const {
    return Authority::parse(chain, folder().read(key_of + ".key"), when);
  }
  std::string crt(const std::string& name) const { return folder().read(name + ".crt"); }
  // A root, and a CA below it.
  void make_two(const std::vector<std::string>& root = kCa,
                const std::vector<std::string>& issuing = kCa) const {
    p256_key("root");
    certificate("root", root);
    p256_key("issuing");
    certificate("issuing", issuing, "root");
  }
};

}  // namespace

TEST_CASE("a brought CA of each kind of key issues what openssl accepts") {
  const Brought openssl;
  openssl.p256_key("p256");
  openssl.p256_key("p384", "P-384");
  openssl.key("rsa", {"-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"});
  openssl.key("ed", {"-algorithm", "ED25519"});
  for (const std::string name : {"p256", "p384", "rsa", "ed"}) {
    CAPTURE(name);
    const std::string chain = openssl.certificate(name, kCa);
    const auto authority = openssl.parse(chain, name);
    REQUIRE_MESSAGE(authority, refusal(authority));
    const auto csr = make_request(*PrivateKey::generate());
    const auto certificate = authority->issue_agent(*csr, {"a", "i", "u"}, now(), 1h);
    REQUIRE(certificate);
    openssl.folder().write("agent.crt", certificate->pem());
    openssl.must({"verify", "-purpose", "sslclient", "-CAfile", name + ".crt", "agent.crt"});
  }
}

TEST_CASE("a brought chain issues by its first certificate and is known by its last") {
  const Brought openssl;
  openssl.make_two();
  const auto authority =
      openssl.parse("# ours\n" + openssl.crt("issuing") + "\n" + openssl.crt("root"), "issuing");
  REQUIRE_MESSAGE(authority, refusal(authority));
  CHECK(authority->public_hash() == Certificate::parse(openssl.crt("root"))->public_hash());
  const auto csr = make_request(*PrivateKey::generate());
  const auto agent = authority->issue_agent(*csr, {"a", "i", "u"}, now(), 1h);
  REQUIRE(agent);
  openssl.folder().write("shown.crt", agent->pem() + authority->chain_pem());
  openssl.must(
      {"verify", "-purpose", "sslclient", "-CAfile", "root.crt", "-untrusted", "shown.crt", "shown.crt"});
  CHECK(!openssl.run({"verify", "-CAfile", "root.crt", "shown.crt"}).ok());
}

TEST_CASE("of a brought chain the signing key and the root are told apart") {
  const Brought openssl;
  openssl.make_two();
  const auto authority = openssl.parse(openssl.crt("issuing") + openssl.crt("root"), "issuing");
  REQUIRE_MESSAGE(authority, refusal(authority));
  CHECK(authority->issuer_hash() == Certificate::parse(openssl.crt("issuing"))->public_hash());
  CHECK(authority->public_hash() == Certificate::parse(openssl.crt("root"))->public_hash());
  CHECK(authority->issuer_pem() == Certificate::parse(openssl.crt("issuing"))->pem());
  CHECK(authority->root_pem() == Certificate::parse(openssl.crt("root"))->pem());
  const auto own = Authority::generate(now());
  REQUIRE(own);
  CHECK(own->issuer_hash() == own->public_hash());
}

TEST_CASE("a brought CA whose key is encrypted issues with the passphrase, and is refused without") {
  const Brought openssl;
  openssl.make_two();
  openssl.must({"pkcs8", "-topk8", "-in", "issuing.key", "-passout", "pass:open", "-out", "locked.key"});
  const std::string chain = openssl.crt("issuing") + openssl.crt("root");
  const std::string key = openssl.folder().read("locked.key");
  const auto authority = Authority::parse(chain, key, now(), "open");
  REQUIRE_MESSAGE(authority, refusal(authority));
  CHECK(authority->issue_agent(*make_request(*PrivateKey::generate()), {"a", "i", "u"}, now(), 1h));
  CHECK(says(refusal(Authority::parse(chain, key, now(), "shut")),
             "the CA's key: the passphrase is not the one that this key was encrypted with"));
  CHECK(says(refusal(Authority::parse(chain, key, now())), "the CA's key: it is encrypted, and there is no"));
}

TEST_CASE("a brought CA that would not work is refused, with what to do") {
  const Brought openssl;
  openssl.make_two();
  const std::string root = openssl.crt("root"), issuing = openssl.crt("issuing");
  CHECK(says(refusal(openssl.parse(issuing, "issuing")), "append the CA that signed it"));
  CHECK(says(refusal(openssl.parse(root + issuing, "root")), "the issuing CA comes first"));
  CHECK(says(refusal(openssl.parse(issuing + root, "root")), "does not belong to \"CN=issuing\""));
  CHECK(says(refusal(openssl.parse(root, "root", now() + 24h * 31)), "expired at"));
  CHECK(says(refusal(openssl.parse(root, "root", now() - 24h)), "clock right?"));
  CHECK(says(refusal(openssl.parse("", "root")), "no -----BEGIN"));
  CHECK(says(refusal(openssl.parse(openssl.folder().read("root.key"), "root")),
             "where only certificates belong"));
  CHECK(says(refusal(Authority::parse(root, root)), "where a private key belongs"));
  CHECK(says(refusal(openssl.parse(root.substr(0, root.size() / 2), "root")), "has no end"));

  const auto refusal_of = [&](const std::vector<std::string>& extensions) {
    openssl.p256_key("other");
    const std::string chain = openssl.certificate("other", extensions);
    return refusal(openssl.parse(chain, "other"));
  };
  CHECK(says(refusal_of({"basicConstraints=CA:FALSE"}), "is not a CA"));
  CHECK(says(refusal_of({"basicConstraints=CA:TRUE"}), "keyUsage with keyCertSign"));
  CHECK(says(refusal_of({"basicConstraints=CA:TRUE", "keyUsage=cRLSign"}), "keyUsage with keyCertSign"));
}

TEST_CASE("a brought CA whose certificates nobody would accept is found out by trying") {
  const Brought openssl;
  const std::string useless = "would not be accepted";
  const auto both = [&] { return openssl.crt("issuing") + openssl.crt("root"); };
  auto short_root = kCa;
  short_root[0] += ",pathlen:0";
  openssl.make_two(short_root);
  CHECK(says(refusal(openssl.parse(both(), "issuing")), useless));
  auto servers_only = kCa;
  servers_only.push_back("extendedKeyUsage=serverAuth");
  openssl.make_two(kCa, servers_only);
  CHECK(says(refusal(openssl.parse(both(), "issuing")), useless));
  openssl.p256_key("issuing");
  openssl.certificate("issuing", kCa, "root", {"-sha1"});
  CHECK(says(refusal(openssl.parse(both(), "issuing")), useless));
  openssl.make_two();
  CHECK(refusal(openssl.parse(both(), "issuing")) == "accepted");
}
