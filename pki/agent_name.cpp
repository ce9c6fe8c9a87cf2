#include "pki/agent_name.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace pki {

namespace {

constexpr std::string_view kScheme = "opsagent://";
constexpr std::size_t kLongestName = 128;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// The rule of the protocol's names, which this folder does not see: what a certificate says is checked here,
// where it is read, whoever reads it.
bool is_name(std::string_view text) {
  const auto allowed = [](char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; };
  return !text.empty() && text.size() <= kLongestName && is_letter_or_digit(text.front()) &&
         std::ranges::all_of(text, allowed);
}

base::Error bad(std::string_view which) {
  return base::Error(
      base::ErrorCode::invalid,
      "the " + std::string(which) +
          " cannot stand in a certificate: it must be letters, digits, '.', '_' and '-', begin "
          "with a letter or a digit and have 128 at most (a uid 64)");
}

}  // namespace

base::Result<void> check_agent_name(const AgentName& name) {
  if (!is_name(name.app_id)) return bad("app's name");
  if (!is_name(name.instance_id)) return bad("instance's name");
  if (!is_name(name.uid) || name.uid.size() > kLongestUid) return bad("uid");
  return {};
}

std::string uri_of(const AgentName& name) {
  return std::string(kScheme) + name.app_id + "/" + name.instance_id + "/" + name.uid;
}

std::optional<AgentName> parse_agent_uri(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return std::nullopt;
  const auto parts = base::split(uri.substr(kScheme.size()), '/');
  if (parts.size() != 3) return std::nullopt;
  AgentName name{std::string(parts[0]), std::string(parts[1]), std::string(parts[2])};
  // Written anew it must be the same: whatever splitting forgives, this does not.
  if (!check_agent_name(name) || uri_of(name) != uri) return std::nullopt;
  return name;
}

}  // namespace pki
