#include "base/programs/control_group.hpp"

#include "base/text.hpp"

namespace base {

std::string_view systemd_group(std::string_view cgroup) {
  constexpr std::string_view kUnified = "0::";
  constexpr std::string_view kOfSystemd = ":name=systemd:";  // where control groups are of the first kind
  std::string_view unified;
  for (const std::string_view line : split(cgroup, '\n')) {
    if (const std::size_t at = line.find(kOfSystemd); at != std::string_view::npos)
      return line.substr(at + kOfSystemd.size());
    if (line.starts_with(kUnified)) unified = line.substr(kUnified.size());
  }
  return unified;
}

}  // namespace base
