// Removing what is not kept any more. For the writer thread.
#pragma once

#include "backend/store/store.hpp"

namespace backend::store {

// A part of it; `more`: call again.
base::Result<domain::Purged> purge(Store& store, const domain::Retention& retention);

}  // namespace backend::store
