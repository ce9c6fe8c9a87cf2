// JsonText under the name that the command line's files use.
#pragma once

#include "base/json_text.hpp"

namespace agent::cli {

using base::JsonText;

}  // namespace agent::cli
