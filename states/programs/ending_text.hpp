// How a program has ended, and what it said, in the comments of states.
#pragma once

#include <string>
#include <string_view>

#include "base/programs/process.hpp"
#include "states/context.hpp"

namespace states::programs {

// "exit 3", or "signal TERM".
std::string ending_of(const base::Completed& completed);

// The beginning of a long text, cut between characters. Secrets are taken out before: of half a secret nobody
// knows that it is one.
std::string shortened(std::string_view text, const Context& context);

}  // namespace states::programs
