// Removing what is not kept any more. For the writer thread.
#pragma once

#include "backend/store/store.hpp"

namespace backend::store {

// Where the next call goes on in tables that are looked through row by row.
struct PurgeCursor {
  std::int64_t agents = 0, enrolments = 0;
};

// A part of it; `more`: call again.
base::Result<domain::Purged> purge(Store& store, const domain::Retention& retention, PurgeCursor& cursor);
// The same from the beginning of those tables.
base::Result<domain::Purged> purge(Store& store, const domain::Retention& retention);

}  // namespace backend::store
