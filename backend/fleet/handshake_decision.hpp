// What becomes of a handshake: judged by the store, in one transaction, before anybody is told anything. For
// the writer thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backend/fleet/delivery.hpp"
#include "backend/store/store.hpp"

namespace backend::fleet {

struct HandshakeDecision {
  domain::Admission admission;
  domain::Instance instance;                        // when admitted, as the following
  std::shared_ptr<const PlacementContent> content;  // when the agent lacks it
  Delivery delivery;                                // for waits, and for nobody else
  std::optional<domain::UpdateOrder> update;
  std::string put_back;  // for the log: the agent has shown that our database is from a backup
  std::string history;   // what it is to say next time
};

struct HandshakeTerms {
  int version = 2;   // of the protocol
  std::string peer;  // its address
  std::string proved;
  bool approves_strangers = false;
  bool is_settling = false;  // the backend was started a moment ago
};

base::Result<HandshakeDecision> decide_handshake(store::Store& store, const protocol::Handshake& handshake,
                                                 const std::optional<domain::Credential>& credential,
                                                 const HandshakeTerms& terms);

}  // namespace backend::fleet
