#include "base/diff.hpp"

#include <string>

#include <doctest/doctest.h>

using base::unified_diff;

TEST_CASE("equal texts have no diff") {
  CHECK(unified_diff("a\nb\n", "a\nb\n").empty());
}

TEST_CASE("a changed line is shown with its context") {
  CHECK(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n") ==
        "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST_CASE("a new file is all additions") {
  CHECK(unified_diff("", "a\nb\n") == "@@ -0,0 +1,2 @@\n+a\n+b\n");
}

TEST_CASE("a removed text is all removals") {
  CHECK(unified_diff("a\n", "") == "@@ -1 +0,0 @@\n-a\n");
}

TEST_CASE("a missing newline at the end is a difference") {
  CHECK(unified_diff("a\n", "a") == "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n");
}

TEST_CASE("distant changes are separate hunks") {
  std::string before, after;
  for (int i = 0; i < 40; ++i) {
    before += std::to_string(i) + "\n";
    after += i == 2 || i == 30 ? "x\n" : std::to_string(i) + "\n";
  }
  const std::string diff = unified_diff(before, after);
  CHECK(diff ==
        "@@ -1,6 +1,6 @@\n 0\n 1\n-2\n+x\n 3\n 4\n 5\n@@ -28,7 +28,7 @@\n 27\n 28\n 29\n-30\n+x\n 31\n 32\n "
        "33\n");
}

TEST_CASE("a long diff is cut and says so") {
  std::string after;
  for (int i = 0; i < 500; ++i)
    after += "line\n";
  const std::string diff = unified_diff("", after, 10);
  CHECK(diff.ends_with("[490 more lines]\n"));
}

TEST_CASE("texts with nothing in common are bounded in time") {
  std::string before, after;
  for (int i = 0; i < 20'000; ++i) {
    before += "a" + std::to_string(i) + "\n";
    after += "b" + std::to_string(i) + "\n";
  }
  CHECK(unified_diff(before, after, 20).find("more lines]") != std::string::npos);
}
