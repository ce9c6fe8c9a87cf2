#include "states/block_devices/mount_table.hpp"

#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "base/files/file_read.hpp"
#include "base/text.hpp"

namespace states::block_devices {

namespace {

constexpr std::size_t kLargestMountinfo = 64 * 1024 * 1024;  // hosts of containers have many

std::optional<dev_t> parse_device(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return std::nullopt;
  const auto major = base::parse_integer(text.substr(0, colon));
  const auto minor = base::parse_integer(text.substr(colon + 1));
  if (!major || !minor || *major < 0 || *minor < 0) return std::nullopt;
  return makedev(static_cast<unsigned>(*major), static_cast<unsigned>(*minor));
}

// "36 35 98:0 /root /path rw,noatime [optional fields] - ext3 /dev/root rw,errors=continue"
std::optional<Mount> parse_line(std::string_view line) {
  const std::vector<std::string_view> fields = base::split(line, ' ');
  const auto dash = std::ranges::find(fields, "-");
  if (dash - fields.begin() < 6 || fields.end() - dash < 4) return std::nullopt;
  const auto id = base::parse_integer(fields[0]);
  const auto device = parse_device(fields[2]);
  if (!id || !device) return std::nullopt;
  return Mount{.id = *id,
               .device = *device,
               .root = unescaped(fields[3]),
               .path = unescaped(fields[4]),
               .options = std::string(fields[5]),
               .type = unescaped(dash[1]),
               .source = unescaped(dash[2]),
               .super_options = unescaped(dash[3])};
}

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

}  // namespace

std::vector<Mount> parse_mounts(std::string_view mountinfo) {
  std::vector<Mount> mounts;
  for (const std::string_view line : base::split(mountinfo, '\n'))
    if (auto mount = parse_line(line)) mounts.push_back(std::move(*mount));
  return mounts;
}

base::Result<std::vector<Mount>> read_mounts() {
  auto text = base::read_file("/proc/self/mountinfo", kLargestMountinfo);
  if (!text) return std::move(text).error();
  return parse_mounts(*text);
}

std::string unescaped(std::string_view field) {
  std::string text;
  for (std::size_t at = 0; at < field.size(); ++at) {
    const std::string_view rest = field.substr(at);
    if (rest.size() >= 4 && rest[0] == '\\' && rest[1] <= '3' && is_octal(rest[1]) && is_octal(rest[2]) &&
        is_octal(rest[3])) {
      text += static_cast<char>((rest[1] - '0') * 64 + (rest[2] - '0') * 8 + (rest[3] - '0'));
      at += 3;
    } else {
      text += rest[0];
    }
  }
  return text;
}

std::string escaped(std::string_view text) {
  std::string field;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\\' || c == '#') {
      std::array<char, 5> code{};
      std::snprintf(code.data(), code.size(), "\\%03o", static_cast<unsigned>(c));
      field += code.data();
    } else {
      field += c;
    }
  }
  return field;
}

}  // namespace states::block_devices
