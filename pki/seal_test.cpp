#include "pki/seal.hpp"

#include <doctest/doctest.h>

using pki::Seal;

TEST_CASE("what was sealed comes back as it was, to the same seal and for the same thing") {
  const Seal seal;
  for (const std::string& text : {std::string(), std::string("a"), std::string(159, 'x'),
                                  std::string(160, 'x'), std::string(500, 'x')}) {
    const std::string sealed = seal.close(text, "of ann");
    REQUIRE_FALSE(sealed.empty());
    CHECK(seal.open(sealed, "of ann") == text);
    CHECK_FALSE(seal.open(sealed, "of bob"));
    CHECK_FALSE(Seal().open(sealed, "of ann"));
  }
}

TEST_CASE("a sealed text tells neither what it says nor how long it is, nor whether two are the same") {
  const Seal seal;
  const std::string one = seal.close("payroll-db", ""), other = seal.close("", "");
  CHECK(one.size() == other.size());
  CHECK(one != seal.close("payroll-db", ""));
  CHECK(one.find("payroll") == std::string::npos);
}

TEST_CASE("a sealed text that was changed anywhere is none") {
  const Seal seal;
  const std::string sealed = seal.close("x", "");
  for (std::size_t i = 0; i < sealed.size(); i += 7) {
    std::string changed = sealed;
    changed[i] = changed[i] == '0' ? '1' : '0';
    CHECK_FALSE(seal.open(changed, ""));
  }
  for (const char* odd : {"", "0", "zz", "17"})
    CHECK_FALSE(seal.open(odd, ""));
}
