#include "states/block_devices/mount_table.hpp"

#include <sys/sysmacros.h>

#include <doctest/doctest.h>

using namespace states::block_devices;

TEST_CASE("mountinfo: fields, optional fields, escapes") {
  const auto mounts = parse_mounts(
      "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue\n"
      "37 36 0:31 / /a\\134b rw - tmpfs with\\040blank rw,size=4k\n");
  REQUIRE(mounts.size() == 2);
  CHECK(mounts[0].id == 36);
  CHECK(mounts[0].device == makedev(98, 0));
  CHECK(mounts[0].root == "/mnt1");
  CHECK(mounts[0].path == "/mnt 2");
  CHECK(mounts[0].options == "rw,noatime");
  CHECK(mounts[0].type == "ext3");
  CHECK(mounts[0].source == "/dev/root");
  CHECK(mounts[0].super_options == "rw,errors=continue");
  CHECK(mounts[1].path == "/a\\b");
  CHECK(mounts[1].source == "with blank");
}

TEST_CASE("mountinfo: lines that are none hide no others") {
  for (const char* bad : {"", "x", "36 35 98:0 / /mnt rw", "36 35 98 / /mnt rw - ext3 x rw",
                          "a 35 98:0 / / rw - t s o", "36 35 -1:0 / / rw - t s o", "- - - - - - -"}) {
    CAPTURE(bad);
    CHECK(parse_mounts(std::string(bad) + "\n1 2 3:4 / / rw - t s o\n").size() == 1);
  }
  CHECK_FALSE(read_mounts()->empty());
}

TEST_CASE("escapes are those of the kernel, and nothing else is one") {
  CHECK(escaped("a b\t\\#\n") == "a\\040b\\011\\134\\043\\012");
  CHECK(unescaped(escaped("a b\t\\#\n'$")) == "a b\t\\#\n'$");
  CHECK(unescaped("\\0") == "\\0");
  CHECK(unescaped("\\999\\8") == "\\999\\8");
  CHECK(unescaped("\\") == "\\");
}
