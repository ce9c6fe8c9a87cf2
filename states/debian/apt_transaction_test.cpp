#include "states/debian/apt_transaction.hpp"

#include <doctest/doctest.h>

using states::debian::AptRemoval;
using states::debian::AptTransaction;
using states::debian::parse_removals;
using states::debian::removal_guard;

TEST_CASE("what apt would remove is read from a simulation, without what it puts back") {
  const auto removed = parse_removals(R"(Reading package lists...
The following packages will be REMOVED:
  t-a t-b
Remv t-d [1:2.0-1]
Purg libx:i386 [1] [t-d:all ]
Remv t-turn [1]
Inst t-turn [1] (2 localhost [all])
Inst t-c (1 localhost [all])
Conf t-c (1 localhost [all])
)");
  CHECK(removed == std::vector<AptRemoval>{{"t-d", "1:2.0-1"}, {"libx:i386", "1"}});
  CHECK(parse_removals("").empty());
}

TEST_CASE("one run of apt-get installs and removes, and takes no name for an option") {
  using Words = std::vector<std::string>;
  const AptTransaction removal{.removals = {"a", "b"}};
  CHECK(removal.action() == "remove");
  CHECK(removal.arguments() == Words{"--", "a", "b"});
  const AptTransaction purge{.removals = {"a"}, .purges = true};
  CHECK(purge.action() == "purge");
  CHECK(purge.arguments() == Words{"--", "a"});
  const AptTransaction both{
      .installs = {"n=1"}, .removals = {"a:i386"}, .purges = true, .options = {"--allow-downgrades"}};
  CHECK(both.action() == "install");
  CHECK(both.arguments() == Words{"--allow-downgrades", "--purge", "--", "n=1", "a:i386-"});
  CHECK(AptTransaction{}.empty());
}

TEST_CASE("the guard against removals has nothing but names of packages in it") {
  CHECK(removal_guard({}, "amd64") == std::vector<std::string>{"--no-remove"});
  const std::vector<std::string> names{"good", "bad'; touch /x; '", "$(worse)", "libstdc++6:i386"};
  const auto options = removal_guard(names, "amd64");
  REQUIRE(options.size() == 4);
  CHECK(options[3].find("' good libstdc++6:i386 '") != std::string::npos);
  CHECK(options[3].find("touch") == std::string::npos);
  CHECK(options[3].find("worse") == std::string::npos);
}
