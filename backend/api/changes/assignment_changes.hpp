// Changes of assignments: what a caller may write. For the writer thread, inside the transaction of the
// change; read_assignment() and describe() for any, find_visible_assignment() for a reader, too.
#pragma once

#include <string>

#include "backend/api/callers/caller.hpp"
#include "backend/api/fields.hpp"
#include "backend/store/store.hpp"

namespace backend::api {

// For the audit: "role=web -> web revision 3".
std::string describe(const domain::Assignment& assignment);

// What a body says, narrowed to what the caller reaches.
domain::Assignment read_assignment(Fields& fields, const Scope& scope);

// One that reaches nobody in the scope is not there.
base::Result<domain::Assignment> find_visible_assignment(store::Store& store, const Scope& scope,
                                                         std::int64_t id);

// The assignment, if the caller may change it. It belongs to the scope of whoever has written it last,
// whatever its selector says.
base::Result<domain::Assignment> find_own(store::Store& store, const Scope& scope, std::int64_t id);

// Whose recipe it may be: one that the caller may read, or assigning it would be a way to. One that does not
// follow is pinned to the revision of now; the answer says why.
base::Result<std::string> settle_revision(store::Store& store, const Scope& scope,
                                          domain::Assignment& wanted);

}  // namespace backend::api
