// The passphrase of an authority's key: from a file, or from a credential that systemd hands over. Never from
// the command line or the environment, which others can read.
#pragma once

#include <string>

#include "base/result.hpp"

namespace backend::server {

// The first line of `file`. Without one, that of `credential` in $CREDENTIALS_DIRECTORY; "" when there is
// none either. Refused: a file that others can read, and one with nothing in it.
base::Result<std::string> read_passphrase(const std::string& file, const std::string& credential);

}  // namespace backend::server
