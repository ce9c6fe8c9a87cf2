// What an agent is told about updates at its handshake. The rules are in domain/update_rules.hpp. For the
// writer thread; fails when the database does.
#pragma once

#include <optional>

#include "backend/store/store.hpp"

namespace backend::store {

// What it has missed, or has not closed yet; else its app's pinned version, if it is another one.
base::Result<std::optional<domain::UpdateOrder>> update_for(Store& store, const domain::UpdateCaller& caller,
                                                            domain::Millis now);

}  // namespace backend::store
