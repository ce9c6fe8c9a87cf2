#include "states/debian/apt_cache.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "states/debian/apt_get.hpp"
#include "states/debian/debian_version.hpp"

namespace states::debian {

AptCandidates parse_policy(std::string_view output) {
  constexpr std::string_view kCandidate = "  Candidate: ";
  AptCandidates candidates;
  std::string_view name;
  for (const std::string_view line : base::split(output, '\n')) {
    if (line.ends_with(':') && !line.starts_with(' ')) {
      name = line.substr(0, line.size() - 1);
    } else if (line.starts_with(kCandidate) && !name.empty()) {
      const std::string_view version = line.substr(kCandidate.size());
      if (version != "(none)") candidates.emplace(name, version);
    }
  }
  return candidates;
}

std::vector<std::string> parse_madison(std::string_view output) {
  std::vector<std::string> versions;
  for (const std::string_view line : base::split(output, '\n')) {
    const auto columns = base::split(line, '|');
    // The third is where it comes from; source packages are listed, too.
    if (columns.size() != 3 || !base::trim(columns[2]).ends_with(" Packages")) continue;
    versions.emplace_back(base::trim(columns[1]));
  }
  std::ranges::stable_sort(
      versions, [](const std::string& a, const std::string& b) { return compare_debian_versions(a, b) > 0; });
  const auto repeated = std::ranges::unique(versions);
  versions.erase(repeated.begin(), repeated.end());
  return versions;
}

base::Result<std::string> AptCache::ask(std::string_view what, std::span<const std::string> names) {
  std::vector<std::string> argv{"apt-cache"};
  if (!release_.empty()) argv.insert(argv.end(), {"-o", "APT::Default-Release=" + std::string(release_)});
  argv.insert(argv.end(), {std::string(what), "--"});
  argv.insert(argv.end(), names.begin(), names.end());
  auto done = ask_apt(context_, std::move(argv), access_);
  if (!done) return std::move(done).error();
  if (!done->ok())
    return base::Error(base::ErrorCode::io,
                       failure_text("apt-cache " + std::string(what), *done, !context_.sensitive));
  return std::move(done->output);
}

base::Result<AptCandidates> AptCache::candidates(std::span<const std::string> names) {
  if (names.empty()) return AptCandidates();
  auto output = ask("policy", names);
  if (!output) return std::move(output).error();
  AptCandidates found = parse_policy(*output);
  // Of a package of the machine's own architecture apt leaves the architecture out of the answer.
  for (const std::string& name : names) {
    if (found.contains(name)) continue;
    const auto bare = found.find(std::string_view(name).substr(0, name.find(':')));
    if (bare != found.end()) found.emplace(name, bare->second);
  }
  for (const std::string& name : names) {
    if (found.contains(name)) continue;
    auto all = versions(name);
    // Some versions of apt call a name that they do not know an error.
    if (!all && all.error().code() != base::ErrorCode::io) return std::move(all).error();
    if (all && !all->empty()) found.emplace(name, "");
  }
  return found;
}

base::Result<std::vector<std::string>> AptCache::versions(const std::string& name) {
  auto output = ask("madison", std::span(&name, 1));
  if (!output) return std::move(output).error();
  return parse_madison(*output);
}

}  // namespace states::debian
