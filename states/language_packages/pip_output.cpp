#include "states/language_packages/pip_output.hpp"

#include "base/text.hpp"

namespace states::language_packages {

namespace {

constexpr std::string_view kNoVersion = "Could not find a version that satisfies the requirement ";
constexpr std::string_view kNone = "from versions: none";

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

// After a server that did not answer, pip says that there are no versions.
Reason pip_reason(std::string_view output) {
  if (has(output, "Retrying (Retry(") || has(output, "Could not fetch URL") ||
      has(output, "HTTPConnectionPool") || has(output, "HTTPSConnectionPool"))
    return Reason::unreachable;
  if (has(output, kNone)) return Reason::no_such_package;
  if (has(output, kNoVersion)) return Reason::no_such_version;
  if (has(output, "No matching distribution found for ")) return Reason::no_such_package;
  return Reason::other;
}

// The first error, which has the versions that there are; pip repeats it with fewer words.
std::string pip_telling_line(std::string_view output) {
  std::string warning;
  for (std::string_view line : base::split(output, '\n')) {
    line = base::trim(line);
    for (const std::string_view beginning : {"ERROR: ", "error: ", "× "})
      if (line.starts_with(beginning)) return std::string(line.substr(beginning.size()));
    if (warning.empty() && line.starts_with("WARNING: Retrying")) warning = line;
  }
  return warning;
}

}  // namespace states::language_packages
