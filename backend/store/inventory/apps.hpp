// Making and editing apps. For the writer thread.
#pragma once

#include <optional>

#include "backend/store/store.hpp"

namespace backend::store {

// Creates or edits. `expected`: the edit that the caller has seen; 0: it must not exist yet; nothing: any.
// Another agent_version is pinned from now on.
base::Result<domain::App> put_app(Store& store, const domain::App& app, std::optional<domain::Edit> expected,
                                  domain::Millis now);

}  // namespace backend::store
