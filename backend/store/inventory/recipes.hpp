// Changes of recipes and assignments: what is checked before their rows are written. For the writer thread.
#pragma once

#include <optional>

#include "backend/store/store.hpp"

namespace backend::store {

// A new revision, unless the newest one has this very content, and the same modules. The first one of a
// recipe says whose it is; who may push another is for the caller to decide (domain/ownership.hpp).
// `invalid`: the name. `unsupported`: the owner's quota is used up.
base::Result<domain::PutRevision> put_revision(Store& store, const domain::NewRevision& revision,
                                               domain::Millis now, const domain::RecipeQuota& quota = {});

// Whether the owner of the recipe, `owner` if it is new, has room for so many bytes more (`unsupported`).
base::Result<void> check_quota(Store& store, const std::string& recipe, const std::string& owner,
                               std::uint64_t bytes, const domain::RecipeQuota& quota);

// What an assignment names must be there (`not_found`), and its selector must be one (`invalid`). `exists`:
// edited since `expected` was seen, or there is one of the same recipe for the same selector. An assignment
// stays in its app.
base::Result<domain::Assignment> add_assignment(Store& store, const domain::Assignment& assignment,
                                                domain::Millis now);
base::Result<domain::Assignment> edit_assignment(Store& store, const domain::Assignment& assignment,
                                                 std::optional<domain::Edit> expected);
base::Result<void> remove_assignment(Store& store, std::int64_t id, std::optional<domain::Edit> expected);

}  // namespace backend::store
