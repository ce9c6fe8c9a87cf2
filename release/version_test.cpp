#include <string>

#include <doctest/doctest.h>

#include "release/documents.hpp"

TEST_CASE("a version is three numbers and perhaps a pre-release") {
  for (const char* good : {"0.0.0", "1.4.0", "10.20.30", "1.0.0-rc.1", "1.0.0-a-b", "1.0.0-0"})
    CHECK_MESSAGE(release::is_version(good), good);
  for (const char* bad : {"", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-a..b", "1.2.3-01", "1.2.3+b",
                          "v1.2.3", "1.2.3/..", "1.2.-3", "1.2.3 ", "1234567890.0.0", "../../etc"})
    CHECK_FALSE_MESSAGE(release::is_version(bad), bad);
  CHECK_FALSE(release::is_version("1.2.3-" + std::string(60, 'a')));
}

TEST_CASE("versions are ordered as semantic versioning says") {
  const char* const ordered[] = {"0.9.9",        "1.0.0-alpha",   "1.0.0-alpha.1", "1.0.0-alpha.beta",
                                 "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1",    "1.0.0",
                                 "1.0.1",        "1.2.0",         "1.10.0",        "2.0.0"};
  for (std::size_t i = 0; i < std::size(ordered); ++i)
    for (std::size_t j = 0; j < std::size(ordered); ++j)
      CHECK_MESSAGE((release::compare_versions(ordered[i], ordered[j]) <=> 0) == (i <=> j),
                    ordered[i] << " " << ordered[j]);
}
