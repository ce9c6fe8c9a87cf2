// Compiled alone: its names are those of other tests.
#include "pki/authority.hpp"

#include <doctest/doctest.h>

#include "pki/verify.hpp"
#include "tests/support/openssl_program.hpp"

using namespace pki;
using namespace std::chrono_literals;
using tests::OpensslProgram;

namespace {

const AgentName kName{"shop", "web-1.example", "0123456789abcdef0123456789abcdef"};

Instant now() {
  return std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
}
bool says(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

Authority our_authority() {
  auto authority = Authority::generate(now());
  REQUIRE(authority);
  return std::move(*authority);
}

std::string our_request() {
  const auto csr = make_request(*PrivateKey::generate());
  REQUIRE(csr);
  return *csr;
}

}  // namespace

TEST_CASE("openssl finds our CA as it should be") {
  const OpensslProgram openssl;
  const Authority authority = our_authority();
  openssl.folder().write("ca.crt", authority.chain_pem());
  const std::string text = openssl.must({"x509", "-in", "ca.crt", "-noout", "-text", "-nameopt", "RFC2253"});
  CHECK(says(text, "Subject: CN=OpsAgent CA " + authority.public_hash().substr(0, 8)));
  CHECK(says(text, "X509v3 Basic Constraints: critical\n                CA:TRUE, pathlen:0"));
  CHECK(says(text, "X509v3 Key Usage: critical\n                Certificate Sign, CRL Sign"));
  CHECK(says(text, "ASN1 OID: prime256v1"));
  openssl.must({"verify", "-x509_strict", "-check_ss_sig", "-CAfile", "ca.crt", "ca.crt"});
  // Still good in nine years, no longer in eleven.
  openssl.must({"x509", "-in", "ca.crt", "-noout", "-checkend", std::to_string(9 * 365 * 86400)});
  CHECK(
      !openssl.run({"x509", "-in", "ca.crt", "-noout", "-checkend", std::to_string(11 * 365 * 86400)}).ok());
}

TEST_CASE("openssl accepts an agent's certificate for a client, and for nothing else") {
  const OpensslProgram openssl;
  const Authority authority = our_authority();
  const auto certificate = authority.issue_agent(our_request(), kName, now(), 168h);
  REQUIRE(certificate);
  openssl.folder().write("ca.crt", authority.chain_pem());
  openssl.folder().write("agent.crt", certificate->pem());
  openssl.must({"verify", "-x509_strict", "-purpose", "sslclient", "-CAfile", "ca.crt", "agent.crt"});
  CHECK(!openssl.run({"verify", "-purpose", "sslserver", "-CAfile", "ca.crt", "agent.crt"}).ok());
  openssl.folder().write("other.crt", our_authority().chain_pem());
  CHECK(!openssl.run({"verify", "-CAfile", "other.crt", "agent.crt"}).ok());

  const std::string text =
      openssl.must({"x509", "-in", "agent.crt", "-noout", "-text", "-nameopt", "RFC2253"});
  CHECK(says(text, "Subject: CN=" + kName.uid));
  CHECK(says(text, "URI:opsagent://shop/web-1.example/" + kName.uid));
  CHECK(says(text, "X509v3 Basic Constraints: critical\n                CA:FALSE"));
  CHECK(says(text, "X509v3 Key Usage: critical\n                Digital Signature\n"));
  CHECK(says(text, "X509v3 Extended Key Usage: \n                TLS Web Client Authentication\n"));
  CHECK(says(text, "X509v3 Subject Key Identifier"));
  CHECK(says(text, "X509v3 Authority Key Identifier"));
  CHECK(certificate->agent_name() == kName);
}

TEST_CASE("a certificate has its times from the caller, a long random serial, and never outlives its CA") {
  const Authority authority = our_authority();
  const Instant when = now();
  const auto certificate = authority.issue_agent(our_request(), kName, when, 168h);
  const auto other = authority.issue_agent(our_request(), kName, when, kLongestLife);
  REQUIRE(certificate);
  REQUIRE(other);
  CHECK(certificate->not_before() == when - 5min);
  CHECK(certificate->not_after() == when + 168h);
  CHECK(certificate->serial().size() == 32);
  CHECK(certificate->serial() != other->serial());
  const auto late = authority.issue_agent(our_request(), kName, authority.not_after() - 1h, 168h);
  REQUIRE(late);
  CHECK(late->not_after() == authority.not_after());
  CHECK(!authority.issue_agent(our_request(), kName, authority.not_after() + 1s, 168h));
  CHECK(!authority.issue_agent(our_request(), kName, when - 1h, 168h));
  CHECK(!authority.issue_agent(our_request(), kName, when, 0s));
  CHECK(!authority.issue_agent(our_request(), kName, when, kLongestLife + 1s));
}

TEST_CASE("names that could be taken for something else get no certificate") {
  const Authority authority = our_authority();
  const std::string csr = our_request();
  for (const std::string& odd :
       {std::string(), std::string(".."), std::string("a/b"), std::string("a\nb"), std::string("a\0b", 3),
        std::string("-a"), std::string("a,URI:opsagent://x/y/z"), std::string("\xe2\x80\xaex"),
        std::string(129, 'a')}) {
    CHECK(!authority.issue_agent(csr, {odd, "i", "u"}, now(), 1h));
    CHECK(!authority.issue_agent(csr, {"a", odd, "u"}, now(), 1h));
    CHECK(!authority.issue_agent(csr, {"a", "i", odd}, now(), 1h));
  }
  CHECK(!authority.issue_agent(csr, {"a", "i", std::string(65, 'f')}, now(), 1h));
  const AgentName longest{std::string(128, 'a'), std::string(128, 'b'), std::string(64, 'c')};
  CHECK(authority.issue_agent(csr, longest, now(), 1h)->agent_name() == longest);
}

TEST_CASE("openssl accepts a server's certificate for its names, and for nothing else") {
  const OpensslProgram openssl;
  const Authority authority = our_authority();
  const auto key = PrivateKey::generate();
  const auto certificate =
      authority.issue_server(*key, {"ops.example.com", "localhost", "127.0.0.1", "::1"}, now(), 24h);
  REQUIRE(certificate);
  openssl.folder().write("ca.crt", authority.chain_pem());
  openssl.folder().write("server.crt", certificate->pem());
  const auto accepts = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"verify", "-x509_strict", "-CAfile", "ca.crt"});
    more.push_back("server.crt");
    return openssl.run(std::move(more)).ok();
  };
  CHECK(accepts({"-purpose", "sslserver", "-verify_hostname", "ops.example.com"}));
  CHECK(accepts({"-verify_hostname", "localhost"}));
  CHECK(accepts({"-verify_ip", "127.0.0.1"}));
  CHECK(accepts({"-verify_ip", "::1"}));
  CHECK(!accepts({"-verify_hostname", "other.example.com"}));
  CHECK(!accepts({"-verify_ip", "127.0.0.2"}));
  CHECK(!accepts({"-purpose", "sslclient"}));
  CHECK(!certificate->agent_name());
  CHECK(certificate->public_hash() == key->public_hash());
  for (const std::string& odd : {std::string(), std::string("a b"), std::string("*.example.com"),
                                 std::string("[::1]"), std::string("1.2.3"), std::string("a\0.b", 4),
                                 std::string("127.0.0.1\0", 10), std::string("a..b"), std::string("x,DNS:y")})
    CHECK_MESSAGE(!authority.issue_server(*key, {odd}, now(), 24h), odd);
  CHECK(!authority.issue_server(*key, {}, now(), 24h));
}

TEST_CASE("an authority that was kept issues what the first one's agents and servers trust") {
  const Authority first = our_authority();
  const auto kept = Authority::parse(first.chain_pem(), first.key_pem());
  REQUIRE(kept);
  CHECK(kept->public_hash() == first.public_hash());
  CHECK(kept->chain_pem() == first.chain_pem());
  const auto certificate = kept->issue_agent(our_request(), kName, now(), 1h);
  REQUIRE(certificate);
  const auto root = Certificate::parse_chain(first.chain_pem());
  CHECK(verify({*certificate}, *root, Purpose::agent, now()));
  CHECK(!verify({*certificate}, *root, Purpose::server, now()));
  CHECK(!verify({*certificate}, *root, Purpose::agent, now() + 2h));
  CHECK(verify({*certificate}, *root, Purpose::agent, std::nullopt));
  CHECK(!verify({*certificate}, {}, Purpose::agent, now()));
}
