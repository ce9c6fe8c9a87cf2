#include "base/host/os_release.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

namespace base {

namespace {

namespace fs = std::filesystem;
using Family = OsRelease::Family;

struct ScratchRoot {
  ScratchRoot() {
    std::string pattern = (fs::temp_directory_path() / "opsagent-os-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()));
    path = pattern;
  }
  ~ScratchRoot() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(path + name).parent_path());
    std::ofstream(path + name) << text;
  }
  std::string path;
};

}  // namespace

TEST_CASE("Debian says who it is") {
  const OsRelease os = parse_os_release(
      "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nNAME=\"Debian "
      "GNU/Linux\"\nVERSION_ID=\"12\"\nID=debian\n");
  CHECK(os.family == Family::debian);
  CHECK(os.id == "debian");
  CHECK(os.version == "12");
  CHECK(os.name == "Debian GNU/Linux 12 (bookworm)");
}

TEST_CASE("the family follows from ID, else from ID_LIKE") {
  struct Row {
    const char* text;
    Family family;
  };
  for (const Row& row :
       {Row{"ID=ubuntu\nID_LIKE=debian\n", Family::debian}, Row{"ID=\"centos\"\n", Family::rhel},
        Row{"ID=amzn\nID_LIKE=\"centos rhel fedora\"\n", Family::rhel}, Row{"ID='rocky'\n", Family::rhel},
        Row{"ID=almalinux", Family::rhel}, Row{"ID=ol\n", Family::rhel}, Row{"ID=fedora\n", Family::rhel},
        Row{"ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n", Family::debian},
        Row{"ID_LIKE=\"foo  rhel\"\nID=bar\n", Family::rhel}, Row{"ID=rhel\nID_LIKE=debian\n", Family::rhel},
        Row{"ID=alpine\n", Family::other}, Row{"ID=arch\nID_LIKE=archlinux\n", Family::other},
        Row{"", Family::other}}) {
    CAPTURE(row.text);
    CHECK(parse_os_release(row.text).family == row.family);
  }
}

TEST_CASE("quotes, escapes, comments, blanks and DOS line ends are understood") {
  const OsRelease os = parse_os_release(
      "# a comment\r\n#ID=centos\r\n  ID = debian \r\nPRETTY_NAME=\"A \\\"quoted\\\" "
      "\\$name\"\r\nnonsense\r\n=x\r\n"
      "VERSION_ID='1 2'\r\n");
  CHECK(os.id == "debian");
  CHECK(os.name == "A \"quoted\" $name");
  CHECK(os.version == "1 2");
}

TEST_CASE("broken lines do no harm") {
  CHECK(parse_os_release("ID=\"\n").id == "\"");
  CHECK(parse_os_release("ID=\\").id == "\\");
  CHECK(parse_os_release("ID=").id.empty());
  CHECK(parse_os_release(std::string("ID=a\0b\n", 7)).family == Family::other);
}

TEST_CASE("etc/os-release of a root wins over usr/lib/os-release, which stands in for it") {
  const ScratchRoot root;
  CHECK(read_os_release(root.path).family == Family::other);
  CHECK(read_os_release(root.path).id.empty());
  root.write("/usr/lib/os-release", "ID=fedora\n");
  CHECK(read_os_release(root.path).id == "fedora");
  root.write("/etc/os-release", "ID=debian\n");
  CHECK(read_os_release(root.path).id == "debian");
}

TEST_CASE("an absolute link of a root leads to that root's file, not to this machine's") {
  const ScratchRoot root;
  root.write("/usr/lib/os-release", "ID=fedora\n");
  fs::create_directories(root.path + "/etc");
  fs::create_symlink("/usr/lib/os-release", root.path + "/etc/os-release");
  CHECK(read_os_release(root.path).id == "fedora");
}

}  // namespace base
