// AgentName: who a certificate says an agent is. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace pki {

struct AgentName {
  std::string app_id;
  std::string instance_id;
  std::string uid;  // made by the server at each enrolment; the certificate's common name
  bool operator==(const AgentName&) const = default;
};

// X.509 allows no longer common name.
inline constexpr std::size_t kLongestUid = 64;

// Letters, digits, '.', '_' and '-', beginning with a letter or a digit, 128 at most: nothing in a name can
// be taken for a part of the URI, of a path or of a log line.
base::Result<void> check_agent_name(const AgentName& name);

// opsagent://<app>/<instance>/<uid>, as it stands in the certificate. The name must be checked.
std::string uri_of(const AgentName& name);

// Back. Nothing unless all of it is exactly that, with names that pass the check.
std::optional<AgentName> parse_agent_uri(std::string_view uri);

}  // namespace pki
