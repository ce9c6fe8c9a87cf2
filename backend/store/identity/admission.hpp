// A handshake: the decision (domain/admission_rules.hpp) and what it leaves in the rows. For the writer
// thread; fails when the database does.
#pragma once

#include <optional>
#include <string>

#include "backend/domain/access/identity.hpp"
#include "backend/store/store.hpp"

namespace backend::store {

// How those without a certificate are received.
struct StrangerTerms {
  bool approves = false;     // who comes for the first time waits for an operator
  std::string network = {};  // where this one comes from: domain::network_of()
};

// Who it is, epoch, what the agent says of itself. A refusal is a verdict, not an error, and changes nothing,
// but that a stranger who has to be approved is noted, as far as there is room (domain::room_to_wait()).
base::Result<domain::Admission> admit(Store& store, const protocol::Handshake& handshake,
                                      const std::optional<domain::Credential>& credential, domain::Millis now,
                                      const StrangerTerms& strangers = {});

}  // namespace backend::store
