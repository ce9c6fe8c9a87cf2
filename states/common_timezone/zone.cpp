#include "states/common_timezone/zone.hpp"

#include <algorithm>
#include <filesystem>

#include "base/text.hpp"

namespace states::common_timezone {

namespace {

constexpr std::size_t kLargestZone = 1024 * 1024;
constexpr int kMostLinks = 16;

// Where a link leads, as an absolute path below the root.
base::Result<std::string> destination(const std::string& link, base::Tree& tree) {
  auto target = tree.read_link(link);
  if (!target) return std::move(target).error();
  const std::filesystem::path folder = base::split_path(link).folder;
  return base::clean_path((folder / *target).lexically_normal().string());
}

// The bytes of the regular file at the end of all links; nothing when there is none.
base::Result<std::optional<std::string>> read_through_links(std::string path, base::Tree& tree) {
  for (int links = 0; links < kMostLinks; ++links) {
    auto found = tree.look(path);
    if (!found) return std::move(found).error();
    if (!*found || S_ISDIR((*found)->st_mode)) return std::optional<std::string>();
    if (!S_ISLNK((*found)->st_mode)) {
      auto bytes = tree.read(path, kLargestZone);
      if (!bytes) return std::move(bytes).error();
      return std::optional(std::move(*bytes));
    }
    auto next = destination(path, tree);
    if (!next) return std::move(next).error();
    path = std::move(*next);
  }
  return std::optional<std::string>();
}

}  // namespace

bool is_zone_name(std::string_view name) {
  // In the zone folder Debian has a link of that name to /etc/localtime: no zone, and a loop if it were used.
  if (name == "localtime" || name.ends_with('/')) return false;
  const bool is_clean = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/_+-.").find(c) != std::string_view::npos;
  });
  const auto parts = base::split(name, '/');
  return is_clean && !parts.empty() && std::ranges::none_of(parts, [](std::string_view part) {
           return part.empty() || part == "." || part == "..";
         });
}

std::string zone_path(std::string_view name) {
  return std::string(kZoneFolder) + "/" + std::string(name);
}

base::Result<std::optional<std::string>> read_zone(std::string_view name, base::Tree& tree) {
  auto path = base::clean_path(zone_path(name));
  if (!path) return std::move(path).error();
  auto bytes = read_through_links(*path, tree);
  // A file on the way to it ("UTC/Berlin") is as good as nothing.
  if (!bytes && bytes.error().code() == base::ErrorCode::exists) return std::optional<std::string>();
  // There are tables and lists beside the zones.
  if (bytes && *bytes && !(*bytes)->starts_with("TZif")) return std::optional<std::string>();
  return bytes;
}

base::Result<Localtime> read_localtime(base::Tree& tree) {
  const std::string path = "/etc/localtime";
  Localtime present;
  auto found = tree.look(path);
  if (!found) return std::move(found).error();
  if (!*found) return present;
  present.seen = base::Seen(**found);
  if (S_ISDIR((*found)->st_mode)) return base::Error(base::ErrorCode::exists, path + " is a directory");
  if (S_ISLNK((*found)->st_mode)) {
    auto target = destination(path, tree);
    const std::string prefix = std::string(kZoneFolder) + "/";
    if (target && target->starts_with(prefix)) present.name = target->substr(prefix.size());
  }
  // A link that leads nowhere good is to be replaced, whatever is wrong with it.
  if (auto bytes = read_through_links(path, tree); bytes && *bytes) present.bytes = std::move(**bytes);
  return present;
}

}  // namespace states::common_timezone
