#include "base/files/mount_id.hpp"

#include <string>
#include <string_view>

#include "base/files/file_read.hpp"
#include "base/text.hpp"

namespace base {

std::optional<std::int64_t> mount_id(int fd) {
  constexpr std::string_view kRow = "mnt_id:";
  const auto text = read_file("/proc/self/fdinfo/" + std::to_string(fd), 64 * 1024);
  if (!text) return std::nullopt;
  for (std::string_view line : split(*text, '\n'))
    if (line.starts_with(kRow)) return parse_integer(trim(line.substr(kRow.size())));
  return std::nullopt;
}

}  // namespace base
