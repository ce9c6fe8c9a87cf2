// Time zones as files: those that the system knows, and the one that it uses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/tree/seen.hpp"
#include "base/tree/tree.hpp"

namespace states::common_timezone {

inline constexpr std::string_view kZoneFolder = "/usr/share/zoneinfo";

// Whether the text can be the name of a zone: a relative path without "." and "..".
bool is_zone_name(std::string_view name);

std::string zone_path(std::string_view name);

// The bytes of the zone's file, links followed; nothing when there is none or it is no zone.
base::Result<std::optional<std::string>> read_zone(std::string_view name, base::Tree& tree);

// What /etc/localtime is.
struct Localtime {
  std::string name;   // of the zone that it is a link to; "" when it is a file, or absent
  std::string bytes;  // "" when it leads nowhere
  base::Seen seen;    // the file or link itself
};
base::Result<Localtime> read_localtime(base::Tree& tree);

}  // namespace states::common_timezone
