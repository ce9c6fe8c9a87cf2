#include "states/debian/apt_cache.hpp"

#include <doctest/doctest.h>

using states::debian::parse_madison;
using states::debian::parse_policy;

TEST_CASE("candidates are read from apt-cache policy") {
  const auto found = parse_policy(R"(hello:
  Installed: (none)
  Candidate: 2.10-3
  Version table:
     2.10-3 500
        500 http://deb.example.org/debian bookworm/main amd64 Packages
mail-transport-agent:
  Installed: (none)
  Candidate: (none)
  Version table:
W: a warning: with a colon
libc6:i386:
  Installed: 1:1.0
  Candidate: 1:2.0
)");
  CHECK(found.size() == 2);
  CHECK(found.at("hello") == "2.10-3");
  CHECK(found.at("libc6:i386") == "1:2.0");
}

TEST_CASE("available versions are read from apt-cache madison, newest first and each once") {
  const auto found = parse_madison(R"(     tiny |      1.9-1 | file:/repo ./ Packages
     tiny |     1.10-1 | file:/repo ./ Packages
     tiny |     1.10-1 | http://mirror.example.org/debian bookworm/main amd64 Packages
     tiny |     1.11-1 | http://mirror.example.org/debian bookworm/main Sources
N: Unable to locate package other
)");
  CHECK(found == std::vector<std::string>{"1.10-1", "1.9-1"});
  CHECK(parse_madison("").empty());
}
