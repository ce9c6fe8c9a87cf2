#include "agent/cli/input/recipe_input.hpp"

#include <unistd.h>

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

using agent::cli::make_host;
using agent::cli::root_path;

TEST_CASE("--root is a folder, by whatever name its owner gave it, and / means the running system") {
  const tests::ScratchFolder scratch;
  scratch.folder("image");
  scratch.link("link", "image");
  scratch.write("file", "");
  CHECK(root_path("")->empty());
  CHECK(root_path("//")->empty());
  CHECK(*root_path(scratch / "image/") == scratch / "image");
  CHECK(*root_path(scratch / "link") == scratch / "image");
  CHECK(make_host(scratch / "link", "/state")->root == scratch / "image");
  for (const char* wrong : {"file", "none", "image/none"})
    CHECK_MESSAGE(root_path(scratch / wrong).error().message().starts_with("--root: "), wrong);
}

TEST_CASE("a root that turns out to be the running system is refused") {
  const tests::ScratchFolder scratch;
  scratch.link("image", "/");
  for (const std::string& path : {scratch / "image", scratch / "image/.", std::string("/usr/..")}) {
    const auto host = make_host(path, "/state");
    REQUIRE_FALSE(host);
    CHECK(host.error().message().find("is this machine itself") != std::string::npos);
  }
}

TEST_CASE("a user's link does not make another folder the root" * doctest::skip(::geteuid() != 0)) {
  const tests::ScratchFolder scratch;
  scratch.folder("home/real");
  scratch.folder("precious/etc");
  scratch.link("home/image", "/");
  scratch.link("home/other", "../precious");
  REQUIRE(::chown((scratch / "home").c_str(), 65534, 65534) == 0);
  for (const char* name : {"home/image", "home/image/etc", "home/other", "home/other/etc"}) {
    for (const uid_t owner : {uid_t{65534}, uid_t{0}}) {
      for (const char* link : {"home/image", "home/other"})
        REQUIRE(::lchown((scratch / link).c_str(), owner, owner) == 0);
      const auto host = make_host(scratch / name, "/state");
      REQUIRE_FALSE(host);
      CHECK(host.error().message().starts_with("--root: not following the symlink "));
      // Nor by those who have the path from before, a journal or a saved plan.
      base::Tree tree(scratch / name);
      CHECK_FALSE(tree.folder("/"));
      CHECK_FALSE(base::Accounts(scratch / name).user("root"));
    }
  }
  CHECK(make_host(scratch / "home/real", "/state")->root == scratch / "home/real");
}
