// Whom a program runs as: the account that a recipe names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/programs/process.hpp"
#include "states/context.hpp"
#include "states/plan.hpp"

namespace states::runners {

struct Runner {
  std::optional<base::Identity> identity;  // absent: as the agent is
  std::string name;                        // empty when the agent's user has no account
  std::string home = "/";
  std::string shell;
};

// Looks the account up (a name, or the number of one that exists). One that nobody has is a Plan with `fail`,
// or with `unknown` when an earlier state might create it. With a user that an earlier state *would* create
// the answer is the agent's own, good for planning only.
std::variant<Runner, Plan> run_as(std::optional<std::string_view> user, std::optional<std::string_view> group,
                                  Context& context);

}  // namespace states::runners
