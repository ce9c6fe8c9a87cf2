#include "update/layout.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

using tests::ScratchFolder;
using update::Layout;

namespace {

void add_version(const ScratchFolder& prefix, const std::string& name) {
  prefix.write("versions/" + name + "/bin/opsagent", "#!/bin/sh\n");
  ::chmod((prefix / ("versions/" + name + "/bin/opsagent")).c_str(), 0755);
}

}  // namespace

TEST_CASE("a version's folder is named after the version and the archive's hash") {
  CHECK(Layout::folder_name("1.4.0", "0123456789abcdef") == "1.4.0-01234567");
}

TEST_CASE("names that could lead out of versions/ are none") {
  CHECK(Layout::is_name("1.4.0-01234567"));
  CHECK(Layout::is_name("1.4.0-rc.1-01234567"));
  for (const char* wrong : {"", ".", "..", "../1", "a/b", ".hidden", "a b", "a\n"})
    CHECK_FALSE_MESSAGE(Layout::is_name(wrong), wrong);
  CHECK_FALSE(Layout::is_name(std::string(200, 'a')));
}

TEST_CASE("current is what was switched to") {
  const ScratchFolder prefix;
  const Layout layout(prefix.path());
  add_version(prefix, "1-aa");
  add_version(prefix, "2-bb");
  REQUIRE(layout.switch_to("1-aa"));
  CHECK(*layout.current() == "1-aa");
  REQUIRE(layout.switch_to("2-bb"));
  CHECK(*layout.current() == "2-bb");
  CHECK(std::filesystem::read_symlink(prefix / "current") == "versions/2-bb");
  CHECK_FALSE(prefix.exists("current.new"));
}

TEST_CASE("a switch goes over what a killed one has left, and is refused when the version is not there") {
  const ScratchFolder prefix;
  const Layout layout(prefix.path());
  add_version(prefix, "1-aa");
  prefix.link("current.new", "versions/9-zz");
  CHECK_FALSE(layout.switch_to("9-zz"));
  CHECK_FALSE(layout.switch_to("../1-aa"));
  REQUIRE(layout.switch_to("1-aa"));
  CHECK(*layout.current() == "1-aa");
}

TEST_CASE("a current that leads nowhere, or elsewhere, is an error") {
  const ScratchFolder prefix;
  const Layout layout(prefix.path());
  CHECK(layout.current().error().code() == base::ErrorCode::not_found);
  prefix.link("current", "versions/1-aa");
  CHECK_FALSE(layout.current());
  ::unlink((prefix / "current").c_str());
  prefix.folder("elsewhere");
  prefix.link("current", "elsewhere");
  CHECK_FALSE(layout.current());
}

TEST_CASE("a staged folder becomes a version in one step") {
  const ScratchFolder prefix;
  const Layout layout(prefix.path());
  prefix.write("staging/x/bin/opsagent", "new");
  ::chmod((prefix / "staging/x/bin/opsagent").c_str(), 0755);
  REQUIRE(layout.adopt(prefix / "staging/x", "1-aa"));
  CHECK(layout.is_complete("1-aa"));
  CHECK_FALSE(prefix.exists("staging/x"));

  SUBCASE("and one that is there already stays") {
    prefix.write("staging/x/bin/opsagent", "another");
    REQUIRE(layout.adopt(prefix / "staging/x", "1-aa"));
    CHECK(prefix.read("versions/1-aa/bin/opsagent") == "new");
    CHECK_FALSE(prefix.exists("staging/x"));
  }
  SUBCASE("and one that is incomplete is replaced") {
    ::unlink((prefix / "versions/1-aa/bin/opsagent").c_str());
    CHECK_FALSE(layout.is_complete("1-aa"));
    prefix.write("staging/x/bin/opsagent", "another");
    ::chmod((prefix / "staging/x/bin/opsagent").c_str(), 0755);
    REQUIRE(layout.adopt(prefix / "staging/x", "1-aa"));
    CHECK(prefix.read("versions/1-aa/bin/opsagent") == "another");
  }
}

TEST_CASE("cleaning never removes what current leads to") {
  const ScratchFolder prefix;
  const Layout layout(prefix.path());
  for (const char* name : {"1-aa", "2-bb", "3-cc", "4-dd"})
    add_version(prefix, name);
  CHECK_FALSE(layout.keep_only({}));  // without a current, who knows
  CHECK(layout.versions().size() == 4);
  REQUIRE(layout.switch_to("3-cc"));
  REQUIRE(layout.keep_only({"2-bb", "9-zz"}));
  auto left = layout.versions();
  std::ranges::sort(left);
  CHECK(left == std::vector<std::string>{"2-bb", "3-cc"});
  REQUIRE(layout.keep_only({}));
  CHECK(layout.versions() == std::vector<std::string>{"3-cc"});
  CHECK(prefix.count("staging") == 0);
}

TEST_CASE("versions come with the one that was changed last first") {
  const ScratchFolder prefix;
  const Layout layout(prefix.path());
  for (const char* name : {"1-aa", "3-cc", "2-bb"})
    add_version(prefix, name);
  std::filesystem::last_write_time(prefix / "versions/1-aa",
                                   std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK(layout.versions().front() == "1-aa");
}

TEST_CASE("staging is swept but for what is kept") {
  const ScratchFolder prefix;
  const Layout layout(prefix.path());
  REQUIRE(layout.sweep_staging());  // there is none
  prefix.write("staging/a/b/c", "x");
  prefix.write("staging/x.part", "x");
  prefix.link("staging/link", "/etc");
  REQUIRE(layout.sweep_staging({"x.part"}));
  CHECK(prefix.count("staging") == 1);
  REQUIRE(layout.sweep_staging());
  CHECK(prefix.count("staging") == 0);
  CHECK(std::filesystem::exists("/etc"));
}

TEST_CASE("who changes what is installed excludes others, who wait for a while") {
  const ScratchFolder prefix;
  const Layout layout(prefix.path());
  {
    const auto first = layout.lock(std::chrono::milliseconds(0));
    REQUIRE(first);
    const auto second = layout.lock(std::chrono::milliseconds(100));
    REQUIRE_FALSE(second);
    CHECK(second.error().code() == base::ErrorCode::exists);
  }
  CHECK(layout.lock(std::chrono::milliseconds(0)));
}

TEST_CASE("nobody but its owner can lock what is installed, and a lock of what was removed is none") {
  const ScratchFolder prefix;
  const Layout layout(prefix.path());
  prefix.folder("staging");
  ::chmod((prefix / "staging").c_str(), 0755);
  auto lock = layout.lock(std::chrono::milliseconds(0));
  REQUIRE(lock);
  CHECK(prefix.mode("staging") == 0700);
  std::filesystem::remove(prefix / "staging");  // an uninstall, which has it
  CHECK(layout.lock(std::chrono::milliseconds(0)));
  CHECK(prefix.mode("staging") == 0700);
}
