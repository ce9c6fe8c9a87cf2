#include "modules/compat.hpp"

#include <doctest/doctest.h>

namespace modules {

namespace {

std::string refusal(std::string_view text, std::string_view version) {
  auto compat = Compat::read(text, "compat.txt");
  REQUIRE(compat);
  return compat->refusal(version).value_or("");
}

}  // namespace

TEST_CASE("versions are compared number by number") {
  CHECK(compare_versions("0.10.0", "0.9.0") > 0);
  CHECK(compare_versions("1.0", "1.0.0") == 0);
  CHECK(compare_versions("1.2.3-rc.1", "1.2.3") == 0);
  CHECK(compare_versions("2", "10") < 0);
}

TEST_CASE("all conditions of compat.txt must hold") {
  struct Row {
    const char* text;
    const char* version;
    bool fits;
  };
  for (const Row& row :
       {Row{"", "0.1.0", true}, Row{"# nothing\n\n", "0.1.0", true}, Row{">= 0.9\n<0.11", "0.10.0", true},
        Row{">= 0.9\n<0.10", "0.10.0", false}, Row{"== 1.0", "1.0.0", true}, Row{"!=1.0", "1.0.0", false},
        Row{"> 0.1.0", "0.1.0", false}, Row{"<= 0.1.0\r\n", "0.1.0", true}, Row{"<0.1", "0.1.0", false}}) {
    CAPTURE(row.text);
    CHECK(refusal(row.text, row.version).empty() == row.fits);
  }
  CHECK(refusal(">= 2.0\n< 3", "0.1.0") == "modules are not compatible with agent 0.1.0: needs >= 2.0, < 3");
}

TEST_CASE("a compat.txt that cannot be read says where and why") {
  const auto refused = Compat::read(">= 1.0\n  => 2.0\n", "compat.txt");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message() ==
        "compat.txt:2:3: '=> 2.0' is not an operator (<, <=, >, >=, ==, !=) with a version such as 1.2.0");
  for (const char* text : {">= ", ">= x", ">= 1..2", ">= 1.99999999999999999999999", ">=1.2.3.4.5.6.7.8.9"})
    CHECK_FALSE(Compat::read(text, "compat.txt"));
  CHECK(Compat::read(std::string(kLargestCompat + 1, '\n'), "compat.txt").error().code() ==
        base::ErrorCode::limit);
}

}  // namespace modules
