// Which distribution this is, from os-release.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace base {

struct OsRelease {
  enum class Family { debian, rhel, other };
  Family family = Family::other;
  std::string id;       // "debian"
  std::string version;  // "12"
  std::string name;     // "Debian GNU/Linux 12 (bookworm)"
};

// Reads <root>/etc/os-release, else <root>/usr/lib/os-release. A machine that has neither is "other".
OsRelease read_os_release(const std::string& root = {});

// The same from the file's text.
OsRelease parse_os_release(std::string_view text);

// What a recipe may call a system: the distributions that are known, as os-release(5) calls them, and the
// families "debian" and "rhel".
std::span<const std::string_view> known_os_names();

}  // namespace base
