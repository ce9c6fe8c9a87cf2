#include <string>
#include <tuple>
#include <utility>

#include <doctest/doctest.h>

#include "states/versions/gem_version.hpp"
#include "states/versions/npm_version.hpp"
#include "states/versions/python_version.hpp"
#include "states/versions/rpm_version.hpp"

namespace {

using namespace states::versions;

int sign(int order) {
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

// Each is before the next one, and they know it both ways.
template <std::size_t Count>
void check_order(int (*compare)(std::string_view, std::string_view), const char* const (&rising)[Count]) {
  for (std::size_t i = 0; i < Count; ++i)
    for (std::size_t j = 0; j < Count; ++j) {
      CAPTURE(rising[i]);
      CAPTURE(rising[j]);
      CHECK(sign(compare(rising[i], rising[j])) == (i < j ? -1 : i > j ? 1 : 0));
    }
}

struct Row {
  const char* wanted;
  const char* version;
  bool matches;
};

}  // namespace

TEST_CASE("versions of Python are in the order of its packaging rules") {
  check_order(compare_python_versions,
              {"1.0.dev456",    "1.0a1",         "1.0a2.dev456", "1.0a12.dev456",
               "1.0a12",        "1.0b1.dev456",  "1.0b2",        "1.0b2.post345.dev456",
               "1.0b2.post345", "1.0rc1.dev456", "1.0rc1",       "1.0",
               "1.0+abc.5",     "1.0+abc.7",     "1.0+5",        "1.0.post456.dev34",
               "1.0.post456",   "1.0.15",        "1.1.dev1",     "20261118123456789012345",
               "1!0.1"});
  for (const auto& [a, b] : {std::pair{"1.0", "1"},
                             {"1.0-1", "1.0.post1"},
                             {"v1.0RC1", "1.0c1"},
                             {"1.0alpha", "1.0a0"},
                             {"1.0-preview-2", "1rc2"},
                             {"1.0+ubuntu-1", "1.0+ubuntu.1"}}) {
    CAPTURE(a);
    CHECK(compare_python_versions(a, b) == 0);
  }
  for (const char* wrong : {"", "abc", "1.", "1..2", "1.0 2", "1.0+", "1.0;x", "1.*", "-1", "1.0a1b2"}) {
    CAPTURE(wrong);
    CHECK_FALSE(is_python_version(wrong));
  }
}

TEST_CASE("specifiers of Python mean what its packaging rules say") {
  for (const Row& row : std::initializer_list<Row>{
           {">=1.2", "1.2", true},       {">=1.2", "1.1.9", false},
           {">= 1.2, < 2", "1.9", true}, {">=1.2,<2", "2.0", false},
           {"<2", "2.0b1", false},       {"<2.0b2", "2.0b1", true},
           {">1.7", "1.7.post1", false}, {">1.7.post1", "1.7.post2", true},
           {">1.7", "1.7+local", false}, {"==1.1", "1.1.0", true},
           {"==1.1", "1.1+local", true}, {"==1.1+other", "1.1+local", false},
           {"==1.*", "1.99", true},      {"==1.*", "2.0", false},
           {"!=1.*", "2.0", true},       {"!=1.5", "1.5.0", false},
           {"~=2.2", "2.9", true},       {"~=2.2", "3.0", false},
           {"~=1.4.5", "1.4.9", true},   {"~=1.4.5", "1.5", false},
           {"~=2.2.post3", "2.3", true}, {"===1.0", "1.0", true},
           {"===1.0", "1.0.0", false},   {"1.5", "1.5.0", true},
           {"1.5", "1.5.1", false},      {"<=1.0", "1.0+local", true},
           {"==1.0a1", "1.0a1", true},
       }) {
    CAPTURE(row.wanted);
    CAPTURE(row.version);
    CHECK(matches_python_specifier(row.version, row.wanted) == row.matches);
  }
  for (const char* wrong : {"", "=1.0", ">=", ">=1.*", "~=1", "1.0", ">=1;x", ">=1 @ http://x", "<>1"}) {
    CAPTURE(wrong);
    CHECK_FALSE(is_python_specifier(wrong));
  }
}

TEST_CASE("versions of npm are in the order of semantic versioning") {
  check_order(compare_npm_versions, {"0.0.9", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta",
                                     "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0",
                                     "1.0.1", "1.2.0", "1.10.0", "20261118123456789012.0.0"});
  CHECK(compare_npm_versions("1.0.0+a", "1.0.0+b") == 0);
  for (const char* wrong :
       {"", "1", "1.2", "1.2.x", "1.2.3.4", "1.2.3-", "1.2.3-a..b", "latest", "1.2.3 4"}) {
    CAPTURE(wrong);
    CHECK_FALSE(is_npm_version(wrong));
  }
}

TEST_CASE("ranges of npm mean what npm says") {
  for (const Row& row : std::initializer_list<Row>{
           {"1.2.3", "1.2.3", true},
           {"=1.2.3", "1.2.4", false},
           {"^1.2.3", "1.9.9", true},
           {"^1.2.3", "2.0.0", false},
           {"^1.2.3", "2.0.0-beta", false},
           {"^0.2.3", "0.2.9", true},
           {"^0.2.3", "0.3.0", false},
           {"^0.0.3", "0.0.4", false},
           {"^0.0", "0.0.9", true},
           {"^0", "0.9.9", true},
           {"^1.x", "1.9.0", true},
           {"~1.2.3", "1.2.9", true},
           {"~1.2.3", "1.3.0", false},
           {"~1", "1.9.9", true},
           {"1.x", "1.5.0", true},
           {"1.x", "2.0.0", false},
           {"*", "5.0.0", true},
           {">1.2", "1.2.9", false},
           {">1.2", "1.3.0", true},
           {"<=1.2", "1.2.9", true},
           {"<1.2", "1.2.0-alpha", false},
           {">=1 <3", "2.9.9", true},
           {">= 1.2.0 < 3", "3.0.0", false},
           {"1.2 - 1.4", "1.4.9", true},
           {"1.2.3 - 1.4.5", "1.4.6", false},
           {"1.x || 3.x", "3.1.0", true},
           {"1.x || 3.x", "2.0.0", false},
           {">=1.0.0-rc.1", "1.0.0-rc.2", true},
           {">=1.0.0-rc.1", "1.1.0-rc.2", false},
           {"v1.2.3", "1.2.3", true},
       }) {
    CAPTURE(row.wanted);
    CAPTURE(row.version);
    CHECK(is_npm_range(row.wanted));
    CHECK(matches_npm_range(row.version, row.wanted) == row.matches);
  }
  for (const char* wrong :
       {"", "latest", "file:../x", "http://x/y.tgz", "1.2.3.4", ">=", "!=1.0.0", "~", "a/b"}) {
    CAPTURE(wrong);
    CHECK_FALSE(is_npm_range(wrong));
  }
}

TEST_CASE("versions and requirements of gems mean what rubygems says") {
  check_order(compare_gem_versions, {"1.0.a10", "1.0.b1", "1.0.rc1", "1.0", "1.0.1", "1.2", "1.10",
                                     "2.0.0.pre.1", "2.0.0", "20261118123456789012"});
  CHECK(compare_gem_versions("1.0", "1") == 0);
  CHECK(compare_gem_versions("1.0.a", "1.a") == 0);
  CHECK(compare_gem_versions("1.0-a", "1.0.pre.a") == 0);
  for (const Row& row : std::initializer_list<Row>{
           {"1.2", "1.2.0", true},
           {"= 1.2", "1.2.1", false},
           {"~> 1.2", "1.9", true},
           {"~> 1.2", "2.0", false},
           {"~> 1.2.3", "1.2.9", true},
           {"~> 1.2.3", "1.3", false},
           {"~> 1", "1.9", true},
           {"~> 1.2", "2.0.a", false},
           {">= 1, < 2", "1.9", true},
           {">= 1, != 1.5", "1.5", false},
           {"> 1.0", "1.0.1", true},
       }) {
    CAPTURE(row.wanted);
    CAPTURE(row.version);
    CHECK(matches_gem_requirement(row.version, row.wanted) == row.matches);
  }
  for (const char* wrong : {"", "abc", "1..2", "1.", "~>", "== 1", "1 2", ">= 1,"}) {
    CAPTURE(wrong);
    CHECK_FALSE(is_gem_requirement(wrong));
  }
}

TEST_CASE("versions of rpm are in rpm's order") {
  check_order(compare_rpm_versions, {"1.0~rc1", "1.0", "1.0^git1", "1.0a", "1.0.1", "1.2", "1.10", "2.0-1",
                                     "2.0-2", "2.0-10", "20261118123456789012-1", "1:0.1-1"});
  CHECK(compare_rpm_versions("0:1.0-1", "1.0-1") == 0);
  CHECK(compare_rpm_versions("1.0", "1.0-7") == 0);
  CHECK(compare_rpm_versions("1_0", "1.0") == 0);
  for (const auto& [a, b, order] : {std::tuple{"1.0^", "1.0", 1},
                                    {"1.0^git1", "1.01", -1},
                                    {"1.0~rc1^git1", "1.0~rc1", 1},
                                    {"1.0^git1~pre", "1.0^git1", -1},
                                    {"a", "1", -1},
                                    {"1a", "1", 1}}) {
    CAPTURE(a);
    CHECK(sign(compare_rpm_parts(a, b)) == order);
  }
  for (const char* wrong : {"", "1 2", "1/2", ":1", "x:1", "1-", "-1", "1;2"}) {
    CAPTURE(wrong);
    CHECK_FALSE(is_rpm_version(wrong));
  }
}
