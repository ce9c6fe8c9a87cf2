#include "base/sha256.hpp"

#include <string>
#include <utility>

#include <doctest/doctest.h>

namespace base {

TEST_CASE("SHA-256 of the vectors that the standard gives") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 of a text in pieces is that of the whole") {
  const std::string text(1000, 'q');
  for (const std::size_t piece : {1u, 7u, 64u, 65u, 999u}) {
    Sha256 hash;
    for (std::size_t at = 0; at < text.size(); at += piece)
      hash.add(std::string_view(text).substr(at, piece));
    CHECK(hash.finish() == sha256_hex(text));
  }
}

TEST_CASE("a hash under way can be moved") {
  Sha256 first;
  first.add("a");
  Sha256 second = std::move(first);
  second.add("bc");
  Sha256 third;
  third.add("something else");
  third = std::move(second);
  CHECK(third.finish() == sha256_hex("abc"));
}

TEST_CASE("MD5 as the original agent's watch records have it") {
  CHECK(md5_hex("") == "d41d8cd98f00b204e9800998ecf8427e");
  CHECK(md5_hex("abc") == "900150983cd24fb0d6963f7d28e17f72");
}

}  // namespace base
