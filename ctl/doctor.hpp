// What is wrong with an installation, from what its API tells. Pure: documents in, findings out.
// docs/security.md, "Checking an installation", lists the checks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/values/value.hpp"
#include "ctl/time_text.hpp"

namespace ctl {

struct Finding {
  std::string check;     // its name, for programs: "open_scope"
  std::string what;      // what was found
  std::string advice;    // what to do
  bool is_note = false;  // worth knowing, and no reason for exit status 2
};

// `installation`: of /installation, null when the backend is too old to tell. `tokens`, `apps`: the items of
// those lists. What a document does not say is not checked.
std::vector<Finding> find_faults(const base::Value& installation, std::span<const base::Value> tokens,
                                 std::span<const base::Value> apps, Instant at);

}  // namespace ctl
