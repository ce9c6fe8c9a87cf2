#include "base/files/below_root.hpp"

#include <fcntl.h>

#include <doctest/doctest.h>

#include "base/host/accounts.hpp"
#include "tests/support/scratch_folder.hpp"

namespace base {

namespace {

// An image whose files lead out of it, if its links are taken for those of this machine.
struct Image : tests::ScratchFolder {
  Image() {
    write("outside/secret", "outside");
    write("outside/list/outside", "");
    write("image/outside/list/inside", "");
    folder("image/etc");
    link("image/etc/absolute", path() + "/outside/secret");
    link("image/etc/relative", "../../outside/secret");
    link("image/etc/list", "/outside/list");
  }
  std::string root() const { return *this / "image"; }
};

}  // namespace

TEST_CASE("no link of another root leads out of it") {
  const Image image;
  CHECK_FALSE(open_below(image.root(), "/etc/absolute", O_RDONLY));
  CHECK_FALSE(open_below(image.root(), "/etc/relative", O_RDONLY));
  CHECK_FALSE(open_below(image.root(), "/../outside/secret", O_RDONLY));
  CHECK(names_below(image.root(), "/etc/list") == std::vector<std::string>{"inside"});
  CHECK(names_below(image.root(), "/etc/no-such-folder").empty());
  CHECK(names_below("", image / "outside") == std::vector<std::string>{"list", "secret"});
}

TEST_CASE("accounts of another root do not come from a file that a link leads to outside") {
  const Image image;
  image.write("outside/passwd", "mallory:x:4711:4711::/:/bin/sh\n");
  image.link("image/etc/passwd", image / "outside/passwd");
  Accounts accounts(image.root());
  CHECK_FALSE(accounts.user("mallory"));
  CHECK_FALSE(accounts.user("root"));
}

}  // namespace base
