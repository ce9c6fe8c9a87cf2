#include "base/digest.hpp"

#include <doctest/doctest.h>

TEST_CASE("digests are those that md5sum and its like print") {
  const auto of = [](base::DigestKind kind) {
    base::Digest digest(kind);
    digest.add("ab");
    digest.add("c");
    return digest.finish();
  };
  CHECK(of(base::DigestKind::md5) == "900150983cd24fb0d6963f7d28e17f72");
  CHECK(of(base::DigestKind::sha1) == "a9993e364706816aba3e25717850c26c9cd0d89d");
  CHECK(of(base::DigestKind::sha256) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(of(base::DigestKind::sha512) ==
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
}

TEST_CASE("digests are known by name and by length") {
  for (const auto kind :
       {base::DigestKind::md5, base::DigestKind::sha1, base::DigestKind::sha256, base::DigestKind::sha512}) {
    CHECK(base::digest_kind(base::digest_name(kind)) == kind);
    CHECK(base::digest_kind_of_length(base::digest_length(kind)) == kind);
    CHECK(base::Digest(kind).finish().size() == base::digest_length(kind));
  }
  CHECK_FALSE(base::digest_kind("crc32"));
  CHECK_FALSE(base::digest_kind_of_length(8));
}
