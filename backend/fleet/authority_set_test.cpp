#include "backend/fleet/authority_set.hpp"

#include <doctest/doctest.h>

namespace backend::fleet {

namespace {

using namespace std::chrono_literals;

pki::Instant now() {
  return std::chrono::system_clock::now();
}

AuthoritySet set_of(std::size_t count) {
  AuthoritySet set{.number = 1};
  for (std::size_t i = 0; i < count; ++i)
    set.active.push_back(*pki::Authority::generate(now()));
  return set;
}

}  // namespace

TEST_CASE("while there are two authorities the old one signs for the server, the new one for who trusts it") {
  const AuthoritySet both = set_of(2);
  CHECK(both.is_changing());
  CHECK(both.for_server(now()).issuer_hash() == both.oldest().issuer_hash());
  CHECK(both.for_renewal(true).issuer_hash() == both.newest().issuer_hash());
  CHECK(both.for_renewal(false).issuer_hash() == both.oldest().issuer_hash());
  CHECK(both.announcement(5s).roots.size() == 2);
  CHECK(both.announcement(5s).issuer == both.newest().issuer_hash());
  CHECK(both.announcement(5s).within_ms == 5000);
}

TEST_CASE("a join token is signed for by the authority whose hash it has, and by no other") {
  const AuthoritySet both = set_of(2);
  for (const pki::Authority& each : both.active)
    CHECK(both.for_token(each.public_hash())->issuer_hash() == each.issuer_hash());
  CHECK(both.for_token(set_of(1).oldest().public_hash()) == nullptr);
  CHECK(both.for_token("") == nullptr);
  CHECK(both.with_issuer(both.newest().issuer_hash()) == &both.active.back());
  CHECK(both.with_issuer("") == nullptr);
}

TEST_CASE("an old authority that has expired does not keep the server from having a certificate") {
  const AuthoritySet both = set_of(2);
  const pki::Instant later = both.oldest().not_after() + 1s;
  AuthoritySet next = both;
  next.active.back() = *pki::Authority::generate(later - 1h);
  CHECK(next.for_server(later).issuer_hash() == next.newest().issuer_hash());
}

TEST_CASE("the fingerprint changes when the roots do") {
  AuthoritySet set = set_of(1);
  const std::string before = set.fingerprint();
  CHECK(set.fingerprint() == before);
  set.active.push_back(*pki::Authority::generate(now()));
  CHECK(set.fingerprint() != before);
}

}  // namespace backend::fleet
