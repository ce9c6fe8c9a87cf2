#include "release/signatures.hpp"

#include <doctest/doctest.h>

#include "tests/support/release_documents.hpp"

using namespace release;
using namespace release::testing;

TEST_CASE("a signature file is read strictly") {
  const SigningKey a = new_key(), b = new_key();
  const std::string good = signed_by({&a, &b}, "document");
  auto parsed = parse_signatures(good);
  REQUIRE(parsed);
  CHECK(parsed->size() == 2);
  CHECK(write(*parsed) == good);
  CHECK(parse_signatures("")->empty());

  std::string stray_bits = good;  // before "==": four bits that mean nothing
  stray_bits[158] = static_cast<char>(stray_bits[158] == 'A' ? 'B' : stray_bits[158] + 1);
  std::string capitals = good;
  capitals[8] = 'F';
  for (const std::string& bad : {good.substr(0, good.size() - 1), good + "\n", good + " ", "\n" + good,
                                 " " + good, "rsa" + good, capitals, good.substr(0, 160) + "\r\n",
                                 good.substr(0, 100) + "\n", std::string("ed25519\n"), stray_bits}) {
    auto refused = parse_signatures(bad);
    REQUIRE_FALSE_MESSAGE(refused, bad);
    CHECK(refused.error().message().starts_with("the signature file "));
  }
  std::string many;
  for (std::size_t i = 0; i <= kMostSignatures; ++i)
    many += good.substr(0, 161) + "\n";
  CHECK_FALSE(parse_signatures(many));
}

TEST_CASE("enough keys of the role must have signed, and nobody else") {
  const SigningKey a = new_key(), b = new_key(), c = new_key(), stranger = new_key();
  const Root root = root_of(1, {&a, &b, &c}, 2, {&a}, {&b});
  const auto said = [&](Role role, const std::string& signatures) {
    return judge_signatures(root, role, "document", signatures).refusal;
  };
  CHECK(said(Role::root, signed_by({&a, &b}, "document")) == Refusal::none);
  CHECK(said(Role::root, signed_by({&c, &b, &a}, "document")) == Refusal::none);
  CHECK(said(Role::root, signed_by({&a}, "document")) == Refusal::below_threshold);
  CHECK(said(Role::root, "") == Refusal::below_threshold);
  CHECK(said(Role::root, signed_by({&a, &a}, "document")) == Refusal::key_twice);
  CHECK(said(Role::root, signed_by({&a, &b, &stranger}, "document")) == Refusal::unknown_key);
  CHECK(said(Role::root, signed_by({&a, &b}, "other")) == Refusal::bad_signature);
  // Enough without it, and yet: what is beside a document is right, or the document is not believed.
  CHECK(said(Role::root, signed_by({&a, &b}, "document") + signed_by({&c}, "other")) ==
        Refusal::bad_signature);
  CHECK(said(Role::root, "x") == Refusal::malformed);
  // Keys of another role are strangers.
  CHECK(said(Role::release, signed_by({&b}, "document")) == Refusal::unknown_key);
  CHECK(said(Role::release, signed_by({&a}, "document")) == Refusal::none);
  auto below = check_signatures(root, Role::root, "document", signed_by({&a}, "document"));
  REQUIRE_FALSE(below);
  CHECK(below.error().message().find("1 of the 2") != std::string::npos);
  CHECK(missing_signatures(root, Role::root, "document", {}) == 2);
}
