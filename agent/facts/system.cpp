// Distribution, kernel, processors and memory.
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/facts/facts.hpp"
#include "base/files/file_read.hpp"
#include "base/host/os_release.hpp"
#include "base/text.hpp"
#include "base/values/json_text.hpp"

namespace agent::facts {

namespace {

constexpr std::size_t kLargestInfo = 4 * 1024 * 1024;

// The value of the first "key : value" line of a /proc file.
std::string value_in(std::string_view text, std::string_view key) {
  for (const std::string_view line : base::split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && base::trim(line.substr(0, colon)) == key)
      return std::string(base::trim(line.substr(colon + 1)));
  }
  return {};
}

std::string_view family_name(base::OsRelease::Family family) {
  switch (family) {
    case base::OsRelease::Family::debian:
      return "debian";
    case base::OsRelease::Family::rhel:
      return "rhel";
    case base::OsRelease::Family::other:
      break;
  }
  return "other";
}

}  // namespace

std::string os() {
  const base::OsRelease release = base::read_os_release();
  return base::JsonText()
      .begin_object()
      .member("family", family_name(release.family))
      .member("id", release.id)
      .member("name", release.name)
      .member("version", release.version)
      .end_object()
      .take();
}

std::string kernel() {
  utsname names{};
  if (::uname(&names) != 0) return {};
  return base::JsonText()
      .begin_object()
      .member("arch", std::string_view(names.machine))
      .member("release", std::string_view(names.release))
      .member("version", std::string_view(names.version))
      .end_object()
      .take();
}

std::string cpu() {
  base::JsonText json;
  json.begin_object().member("count", ::sysconf(_SC_NPROCESSORS_ONLN));
  if (const auto info = base::read_file("/proc/cpuinfo", kLargestInfo))
    if (const std::string model = value_in(*info, "model name"); !model.empty()) json.member("model", model);
  return json.end_object().take();
}

std::string memory() {
  const auto info = base::read_file("/proc/meminfo", kLargestInfo);
  if (!info) return {};
  const auto mebibytes = [&](std::string_view key) {
    const std::string text = value_in(*info, key);
    constexpr std::int64_t kKibPerMib = 1024;
    return base::parse_integer(std::string_view(text).substr(0, text.find(' '))).value_or(0) / kKibPerMib;
  };
  return base::JsonText()
      .begin_object()
      .member("swap_mb", mebibytes("SwapTotal"))
      .member("total_mb", mebibytes("MemTotal"))
      .end_object()
      .take();
}

}  // namespace agent::facts
