// Planning a whole recipe: what would each state do, given what the earlier ones would have done? Writes
// nothing, anywhere.
#pragma once

#include <functional>

#include "agent/engine/messages.hpp"
#include "base/interrupt.hpp"
#include "base/values/redactor.hpp"
#include "states/context.hpp"

namespace agent::engine {

struct PlanOptions {
  std::string salt;                     // of a saved plan, whose fingerprints are made; "": none
  std::string state_dir;                // where watch records are read from
  std::vector<std::string> done_waits;  // wait states that are known to be done
  bool has_backend = false;             // somebody will say when the others are
};

// `each` is called with every planned state as it comes; may be empty.
PlanResult plan_recipe(const recipe::Recipe& recipe, const states::Host& host, const base::Redactor& redactor,
                       base::Interrupt& interrupt, const PlanOptions& options,
                       const std::function<void(const PlannedState&)>& each = {});

// SHA-256 over what may be shown of a plan (see hide() in secrets.hpp), and over its mark: two plans with the
// same fingerprint saw the same and want the same. Of content only the mark goes into it, which is a hash
// with the plan's salt: whoever has the salt, too, can try guesses, so a saved plan is readable by its owner
// only.
std::string fingerprint(const states::Plan& plan, const std::vector<states::Change>& shown);
// In the place of one, for a state whose condition does not hold.
inline constexpr std::string_view kSkippedFingerprint = "skipped";

}  // namespace agent::engine
