#include "pki/join_token.hpp"

#include <random>

#include <doctest/doctest.h>

#include "base/sha256.hpp"

using namespace pki;

namespace {

const std::string kHash = base::sha256_hex("a CA");

}  // namespace

TEST_CASE("a join token survives being copied, and no two are the same") {
  const JoinToken token = make_join_token(kHash);
  CHECK(token.id.size() == 16);
  CHECK(token.secret.size() == 32);
  const auto read = parse_join_token(format_join_token(token));
  REQUIRE(read);
  CHECK(*read == token);
  const JoinToken other = make_join_token(kHash);
  CHECK(other.id != token.id);
  CHECK(other.secret != token.secret);
  CHECK(hash_of_secret(token.secret) == base::sha256_hex(token.secret));
}

TEST_CASE("a join token that is not exactly one is refused, without its secret in the message") {
  const JoinToken token = make_join_token(kHash);
  const std::string text = format_join_token(token);
  std::string upper = text;
  for (char& c : upper)
    if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 'a' + 'A');
  const std::string shifted =
      "opsjoin1." + token.id + token.secret.substr(0, 1) + "." + token.secret.substr(1) + "." + token.ca_hash;
  const std::string long_secret =
      "opsjoin1." + token.id + "." + token.secret + "00." + token.ca_hash.substr(2);
  for (const std::string& wrong :
       {std::string(), std::string("opsjoin1."), " " + text, text + "\n", text + "0", text.substr(1),
        text.substr(0, text.size() - 1), "opsjoin2" + text.substr(8), upper, shifted, long_secret,
        text + text, text + std::string(1, '\0'), text.substr(0, text.size() - 1) + "g"}) {
    const auto read = parse_join_token(wrong);
    CHECK_MESSAGE(!read, wrong);
    if (!read) CHECK(read.error().message().find(token.secret.substr(0, 8)) == std::string::npos);
  }
}

TEST_CASE("damaged join tokens are refused, or are what they say") {
  const std::string text = format_join_token(make_join_token(kHash));
  for (std::size_t size = 0; size < text.size(); ++size)
    CHECK(!parse_join_token(std::string_view(text).substr(0, size)));
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    std::string damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    if (const auto read = parse_join_token(damaged)) CHECK(format_join_token(*read) == damaged);
  }
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string noise(random() % 200, '\0');
    for (char& c : noise)
      c = static_cast<char>(random());
    CHECK(!parse_join_token(noise));
    CHECK(!parse_join_token("opsjoin1." + noise));
  }
}
