// The names of servers in certificates. Pure function.
#pragma once

#include <string>

#include "base/result.hpp"
#include "pki/issue.hpp"

namespace pki {

// An IPv4 or IPv6 address (without brackets), else a DNS name; no wildcards: a backend knows its names.
base::Result<AltName> read_server_name(const std::string& name);

}  // namespace pki
