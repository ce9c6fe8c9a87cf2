#include "base/host/os_release.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>

#include "base/files/below_root.hpp"
#include "base/files/file_read.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace base {

namespace {

OsRelease::Family family_of(std::string_view id) {
  static constexpr std::array<std::string_view, 2> kDebian{"debian", "ubuntu"};
  static constexpr std::array<std::string_view, 9> kRhel{"rhel",      "centos", "fedora", "amzn",  "rocky",
                                                         "almalinux", "ol",     "redhat", "amazon"};
  if (std::ranges::find(kDebian, id) != kDebian.end()) return OsRelease::Family::debian;
  if (std::ranges::find(kRhel, id) != kRhel.end()) return OsRelease::Family::rhel;
  return OsRelease::Family::other;
}

// NAME="a \"quoted\" value" and NAME='x' and NAME=x
std::string unquote(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

}  // namespace

OsRelease parse_os_release(std::string_view text) {
  OsRelease os;
  std::string like;
  for (std::string_view line : split(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || line.starts_with('#')) continue;
    const std::string_view key = trim(line.substr(0, equals));
    std::string value = unquote(trim(line.substr(equals + 1)));
    if (key == "ID")
      os.id = std::move(value);
    else if (key == "ID_LIKE")
      like = std::move(value);
    else if (key == "VERSION_ID")
      os.version = std::move(value);
    else if (key == "PRETTY_NAME")
      os.name = std::move(value);
  }
  os.family = family_of(os.id);
  for (std::string_view word : split_words(like))
    if (os.family == OsRelease::Family::other) os.family = family_of(word);
  return os;
}

std::span<const std::string_view> known_os_names() {
  // As they call themselves in ID. A name that is missing here is no error, unless it looks like a slip.
  static constexpr std::array<std::string_view, 62> kNames{
      "debian",         "ubuntu",     "rhel",
      "centos",         "fedora",     "amzn",
      "rocky",          "almalinux",  "ol",
      "redhat",         "amazon",     "alpine",
      "anolis",         "alinux",     "arch",
      "arch32",         "archarm",    "azurelinux",
      "bottlerocket",   "cachyos",    "chainguard",
      "clear-linux-os", "cloudlinux", "cumulus-linux",
      "deepin",         "devuan",     "elementary",
      "endeavouros",    "flatcar",    "gentoo",
      "kali",           "kylin",      "linuxmint",
      "mageia",         "manjaro",    "mariner",
      "miraclelinux",   "neon",       "nixos",
      "nobara",         "openEuler",  "openmandriva",
      "opensuse-leap",  "openwrt",    "opensuse-tumbleweed",
      "parrot",         "photon",     "pop",
      "postmarketos",   "pureos",     "raspbian",
      "scientific",     "sled",       "sles",
      "sl-micro",       "slackware",  "tencentos",
      "trisquel",       "uos",        "void",
      "wolfi",          "zorin",
  };
  return kNames;
}

OsRelease read_os_release(const std::string& root) {
  constexpr std::size_t kLimit = 64 * 1024;
  for (const char* path : {"/etc/os-release", "/usr/lib/os-release"}) {
    // One of them is a link as a rule; an absolute one must not lead out of the root.
    const UniqueFd file = open_below(root, path, O_RDONLY | O_NONBLOCK);
    if (!file) continue;
    if (auto text = read_all(file.get(), kLimit, path)) return parse_os_release(*text);
  }
  return {};
}

}  // namespace base
