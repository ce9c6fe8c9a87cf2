// How long what a backend asks for may be carried out. A command that is played back later, or that was held
// up on its way, is not done: what it asked for may be wrong by then.
#pragma once

#include <chrono>
#include <optional>

#include "protocol/messages.hpp"

namespace protocol {

// Somebody waits for the answer of most of these, and for no longer than that.
inline constexpr std::chrono::seconds kCommandLifetime{60};
// Nobody waits for an update, and it is told to many agents at once.
inline constexpr std::chrono::seconds kUpdateLifetime{600};

// Nothing for what may be said at any time: the recipe and its waits are bound to their version, the rest is
// an answer.
std::optional<std::chrono::seconds> lifetime_of(const BackendBody& body);

}  // namespace protocol
