#include "states/docker/reference.hpp"

#include <algorithm>
#include <cctype>

#include "base/sha256.hpp"

namespace states::docker {

namespace {

constexpr std::size_t kLongestName = 255;
constexpr std::size_t kLongestTag = 128;

bool is_word(unsigned char c) {
  return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
}

// Words between slashes; the first may be a host with a port.
bool is_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestName) return false;
  bool is_first = true;
  while (true) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    const bool may_have_port = is_first && slash != name.npos;
    if (part.empty() || std::isalnum(static_cast<unsigned char>(part.front())) == 0 ||
        !std::ranges::all_of(part,
                             [&](unsigned char c) { return is_word(c) || (may_have_port && c == ':'); }))
      return false;
    if (slash == name.npos) return true;
    name.remove_prefix(slash + 1);
    is_first = false;
  }
}

bool is_tag(std::string_view tag) {
  return !tag.empty() && tag.size() <= kLongestTag && tag.front() != '.' && tag.front() != '-' &&
         std::ranges::all_of(tag, is_word);
}

}  // namespace

std::string Reference::registry() const {
  const std::size_t slash = name.find('/');
  if (slash == name.npos) return "docker.io";
  const std::string host = name.substr(0, slash);
  return host.find_first_of(".:") != host.npos || host == "localhost" ? host : "docker.io";
}

base::Result<Reference> parse_reference(std::string_view repo, std::string_view tag, std::string_view param) {
  const base::Error illegal(base::ErrorCode::invalid,
                            "Illegal value for '" + std::string(param) + "': '" + std::string(repo) + "'");
  Reference reference;
  std::string_view name = repo;
  if (const std::size_t at = repo.find('@'); at != repo.npos) {
    reference.digest = repo.substr(at + 1);
    name = repo.substr(0, at);
    constexpr std::string_view kSha256 = "sha256:";
    if (!reference.digest.starts_with(kSha256) ||
        !base::is_sha256_hex(std::string_view(reference.digest).substr(kSha256.size())))
      return illegal;
  }
  const std::size_t slash = name.rfind('/');
  const std::size_t colon = name.find(':', slash == name.npos ? 0 : slash);
  if (colon != name.npos) {
    reference.tag = name.substr(colon + 1);
    if (!is_tag(reference.tag)) return illegal;
    name = name.substr(0, colon);
  }
  if (!is_name(name)) return illegal;
  reference.name = name;
  if (!reference.digest.empty()) {
    reference.tag.clear();
    return reference;
  }
  if (!tag.empty()) {
    if (!is_tag(tag))
      return base::Error(base::ErrorCode::invalid, "Illegal value for 'tag': '" + std::string(tag) + "'");
    reference.tag = tag;
  }
  if (reference.tag.empty()) reference.tag = "latest";
  return reference;
}

bool is_container_name(std::string_view name) {
  return name.size() >= 2 && name.size() <= kLongestName &&
         std::isalnum(static_cast<unsigned char>(name.front())) != 0 && std::ranges::all_of(name, is_word);
}

}  // namespace states::docker
