// Who has read what a recipe says: it may hold secrets.
#pragma once

#include <string>

#include "backend/api/context.hpp"
#include "backend/api/route.hpp"

namespace backend::api {

// Notes in the audit that the caller is shown the content of a revision; bounded (domain::ReadLimit). To be
// awaited before it is shown: when it cannot be noted, it is not shown. `how`: "" by reading it, or "plan".
Task<base::Result<void>> note_read(Context& context, const Call& call, std::string recipe,
                                   std::int64_t revision, std::string how);

// Adds rows about reads that were counted and that no later row has told of.
Task<> note_missed_reads(Context& context);

}  // namespace backend::api
