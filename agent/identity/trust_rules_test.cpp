#include "agent/identity/trust_rules.hpp"

#include <doctest/doctest.h>

#include "pki/authority.hpp"

namespace agent::identity {

namespace {

using namespace std::chrono_literals;

pki::Authority authority() {
  return *pki::Authority::generate(std::chrono::system_clock::now());
}
pki::Certificate root_of(const pki::Authority& authority) {
  return *pki::Certificate::parse(authority.root_pem());
}

// Three that have nothing to do with each other, and a machine that trusts the first.
struct Three {
  const pki::Authority old = authority(), next = authority(), stranger = authority();
  TrustFacts facts{.trusted = {root_of(old)}, .configured = {}, .vouching = {old.public_hash()}};

  std::string refusal(const std::vector<std::string>& roots) const {
    const auto decided = decide_trust(roots, facts);
    return decided ? "" : decided.error().message();
  }
};

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("one authority follows the other by way of both") {
  Three three;
  const auto both = decide_trust({three.old.root_pem(), three.next.root_pem()}, three.facts);
  REQUIRE(both);
  CHECK(both->changes);
  CHECK(both->dropped.empty());
  CHECK(hashes_of(both->trusted) ==
        std::vector<std::string>{three.old.public_hash(), three.next.public_hash()});
  three.facts.trusted = both->trusted;
  const auto again = decide_trust({three.old.root_pem(), three.next.root_pem()}, three.facts);
  REQUIRE(again);
  CHECK_FALSE(again->changes);
  const auto one = decide_trust({three.next.root_pem()}, three.facts);
  REQUIRE(one);
  CHECK(one->changes);
  CHECK(one->dropped == std::vector<std::string>{three.old.public_hash()});
  CHECK(hashes_of(one->trusted) == std::vector<std::string>{three.next.public_hash()});
}

TEST_CASE("authorities are not believed over a connection that nobody vouches for") {
  Three three;
  three.facts.vouching.clear();
  CHECK(says(three.refusal({three.old.root_pem(), three.next.root_pem()}), "no authority vouches for"));
}

TEST_CASE("nor over one that an authority has vouched for which is not trusted any more") {
  Three three;
  three.facts.trusted = {root_of(three.next)};  // the old one was dropped a message ago
  CHECK(says(three.refusal({three.next.root_pem(), three.stranger.root_pem()}), "made anew first"));
  three.facts.vouching = {three.old.public_hash(),
                          three.next.public_hash()};  // one of the two: nobody knows which
  CHECK(says(three.refusal({three.next.root_pem(), three.stranger.root_pem()}), "made anew first"));
}

TEST_CASE("a set of strangers is not believed, and nobody is left without an authority") {
  const Three three;
  CHECK(says(three.refusal({three.stranger.root_pem()}), "none of the authorities"));
  CHECK(says(three.refusal({three.next.root_pem(), three.stranger.root_pem()}), "none of the authorities"));
  CHECK(says(three.refusal({}), "no authority at all"));
}

TEST_CASE("what is announced is bounded, and must be authorities") {
  const Three three;
  const std::vector<std::string> four{three.old.root_pem(), three.next.root_pem(), three.stranger.root_pem(),
                                      authority().root_pem()};
  CHECK(says(three.refusal(four), "3 are trusted at most"));
  CHECK(says(three.refusal({three.old.root_pem(), "nonsense"}), "an announced authority"));
  CHECK(says(three.refusal({three.old.root_pem(), three.next.root_pem() + three.stranger.root_pem()}),
             "exactly one certificate"));
  CHECK(says(three.refusal({three.old.root_pem(), std::string(kLargestAuthority + 1, 'x')}), "too large"));
  const auto key = pki::PrivateKey::generate();
  const auto server =
      three.old.issue_server(*key, {"localhost"}, std::chrono::system_clock::now(), std::chrono::hours(1));
  CHECK(says(three.refusal({three.old.root_pem(), server->pem()}), "not a CA"));
  // The same one twice is one.
  const auto twice = decide_trust({three.old.root_pem(), three.old.root_pem()}, three.facts);
  REQUIRE(twice);
  CHECK(twice->trusted.size() == 1);
}

TEST_CASE("where the machine's configuration names the authorities, no others are believed") {
  Three three;
  three.facts.configured = {root_of(three.old)};
  const std::string why = three.refusal({three.old.root_pem(), three.next.root_pem()});
  CHECK(says(why, "not in this machine's ca_file"));
  CHECK(says(why, three.next.public_hash()));
  three.facts.configured.push_back(root_of(three.next));
  CHECK(three.refusal({three.old.root_pem(), three.next.root_pem()}).empty());
}

}  // namespace agent::identity
