// A handshake: the decision (domain/admission_rules.hpp) and what it leaves in the rows. For the writer
// thread; fails when the database does.
#pragma once

#include <optional>

#include "backend/domain/identity.hpp"
#include "backend/store/store.hpp"

namespace backend::store {

// Who it is, epoch, what the agent says of itself. A refusal is a verdict, not an error, and changes nothing,
// but that a stranger who has to be approved is noted, as far as there is room (domain::kMostPending).
base::Result<domain::Admission> admit(Store& store, const protocol::Handshake& handshake,
                                      const std::optional<domain::Credential>& credential, domain::Millis now,
                                      bool approves_strangers = false);

}  // namespace backend::store
