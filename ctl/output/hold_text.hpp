// Who keeps a machine from beginning rounds, in a few words.
#pragma once

#include <string>

#include "base/values/value.hpp"
#include "ctl/time_text.hpp"

namespace ctl {

// Of an item of /instances: "paused by alice, ends in 2h: incident 7; held by
// root at the machine, …". What the machine has not taken yet, or does not know, is said. "" when nothing
// keeps it.
std::string hold_text(const base::Value& instance, Instant now);

}  // namespace ctl
