// The tables of the SQLite store, and how a file of an older version becomes one of the present.
#pragma once

#include <span>
#include <string_view>

#include "backend/sqlite.hpp"

namespace backend {

// Step n brings a file of version n to n+1. Steps that were released are never edited; new ones are added.
std::span<const std::string_view> schema_steps();

// Brings the file to the present version, each step in a transaction. A file of a newer one is refused.
base::Result<void> migrate(Database& database, std::span<const std::string_view> steps = schema_steps());

// Refuses a file that migrate() would have something to do for.
base::Result<void> check_version(Database& database);

}  // namespace backend
