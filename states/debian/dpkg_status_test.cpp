#include "states/debian/dpkg_status.hpp"

#include <chrono>

#include <doctest/doctest.h>

namespace {

using states::debian::DpkgPackage;
using states::debian::DpkgState;
using states::debian::DpkgStatus;

constexpr auto kStatus = R"(Package: dpkg
Status: install ok installed
Architecture: amd64
Multi-Arch: foreign
Version: 1.21.22

Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9

Package: libc6
Status: install ok installed
Architecture: i386
Version: 2.36-8

Version: 1.0-1
Architecture: all
Description: fields in another order, and words that look like fields
 Package: not-me
 Version: 9.9
Conffiles:
 /etc/x 0123456789abcdef
Status: install ok half-configured
Package: disorder

Package: left-over
Status: deinstall ok config-files
Architecture: amd64
Version: 3.0

Package: on-hold
Status: hold ok installed
Architecture: amd64
Version: 4.0

Package: broken
Status: install reinstreq half-installed
Architecture: amd64
Version: 5.0

Package: waiting
Status: install ok triggers-awaited
Architecture: amd64
Version: 6.0

Package: foreign-only
Status: install ok installed
Architecture: i386
Version: 7.0

package: lower-case
STATUS: install ok installed
architecture: amd64
version: 8.0

Package: never-there
Status: unknown ok not-installed
Priority: optional
)";

DpkgStatus& status() {
  static DpkgStatus known;
  if (known.size() == 0) known.add(kStatus);
  return known;
}

}  // namespace

TEST_CASE("the dpkg database is read whatever the order of its fields") {
  const DpkgPackage* package = status().find("disorder");
  REQUIRE(package);
  CHECK(package->version == "1.0-1");
  CHECK(package->architecture == "all");
  CHECK(package->state == DpkgState::half_configured);
  CHECK_FALSE(package->is_installed());
  CHECK(package->is_present());
  CHECK(status().find("lower-case")->is_installed());
  CHECK(status().find("not-me") == nullptr);
}

TEST_CASE("only what is configured counts as installed") {
  CHECK(status().find("dpkg")->is_installed());
  CHECK(status().find("on-hold")->is_installed());
  CHECK(status().find("on-hold")->is_held);
  CHECK(status().find("waiting")->is_installed());
  CHECK_FALSE(status().find("broken")->is_installed());
  CHECK(status().find("broken")->needs_reinstall);
  CHECK_FALSE(status().find("left-over")->is_installed());
  CHECK_FALSE(status().find("left-over")->is_present());
  CHECK_FALSE(status().find("never-there")->is_present());
  CHECK(status().find("no-such-package") == nullptr);
}

TEST_CASE("a name without architecture means the machine's own") {
  CHECK(status().native_architecture() == "amd64");
  CHECK(status().find("libc6")->version == "2.36-9");
  CHECK(status().find("libc6", "i386")->version == "2.36-8");
  CHECK(status().find("libc6", "amd64")->version == "2.36-9");
  CHECK(status().find("libc6", "native")->version == "2.36-9");
  CHECK(status().find("libc6", "arm64") == nullptr);
  CHECK(status().find("foreign-only") == nullptr);
  CHECK(status().find("foreign-only", "any") != nullptr);
  CHECK(status().find("disorder", "i386") != nullptr);  // for all architectures
}

TEST_CASE("what an interrupted dpkg has not merged yet replaces what is in the database") {
  DpkgStatus known;
  known.add(kStatus);
  const std::size_t before = known.size();
  known.add("Package: on-hold\nStatus: install ok unpacked\nArchitecture: amd64\nVersion: 4.1\n");
  known.add("Package: brand-new\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n");
  CHECK(known.size() == before + 1);
  CHECK(known.find("on-hold")->version == "4.1");
  CHECK(known.find("on-hold")->state == DpkgState::unpacked);
  CHECK(known.find("brand-new")->is_installed());
  CHECK(known.native_architecture() == "amd64");
}

TEST_CASE("a database without end, or of something else, does no harm") {
  DpkgStatus known;
  known.add("");
  known.add("\n\n \n");
  known.add("Package:\nStatus: install ok installed\n");
  known.add("Status: install ok installed");
  known.add("Package: a\nStatus: nonsense\n\nPackage: b\nStatus: install ok no-such-state");
  CHECK(known.size() == 2);
  CHECK_FALSE(known.find("a")->is_present());
  CHECK_FALSE(known.find("b")->is_present());
  known.add(std::string(3, '\0'));
  CHECK(known.size() == 2);
}

TEST_CASE("a database of 5000 packages is read in a moment") {
  std::string text;
  for (int i = 0; i < 5000; ++i)
    text += "Package: package-" + std::to_string(i) +
            "\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1." + std::to_string(i) +
            "\nDescription: " + std::string(60, 'x') + "\n " + std::string(800, 'y') + "\n\n";
  DpkgStatus known;
  const auto began = std::chrono::steady_clock::now();
  known.add(text);
  const auto took = std::chrono::steady_clock::now() - began;
  CHECK(known.size() == 5000);
  CHECK(known.find("package-4321")->version == "1.4321");
  // Some tens of milliseconds without optimisation; the limit only catches what is wrong by orders of
  // magnitude.
  CHECK(took < std::chrono::seconds(1));
}
