// The built-in states: those that need the engine and not the machine.
#pragma once

#include <span>

#include "states/state.hpp"

namespace builtins {

// Generated from the folders below builtins/.
std::span<const states::RegistryEntry> builtin_states();

}  // namespace builtins
