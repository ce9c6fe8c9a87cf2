// Validation: a program of the recipe's that looks at new content before that takes the place of the old
// (`visudo -cf %s`). A plan shows it and never runs it: it may do anything, and a plan changes nothing.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.hpp"
#include "states/context.hpp"
#include "states/param.hpp"
#include "states/plan.hpp"

namespace states::files {

// `validate` of the recipe everywhere below: one text, whose words are the program and its arguments, or a
// list with one argument each. "%s" in it stands for the path of a file with the new content. No shell.

// What is wrong with it, as far as the recipe tells.
base::Result<void> check_validator(List validate);

// Adds a change that says how the content of `path` will be validated. An error when that cannot work.
base::Result<void> plan_validation(std::string_view path, List validate, Context& context, Plan& plan);

// Runs it on a file for root only, in the agent's state folder and with the name that `path` ends in; the
// file is gone afterwards. Nothing when the program is content with it, else the failure of the state.
std::optional<Applied> refused_by_validator(std::string_view path, std::string_view content, List validate,
                                            ApplyContext& context);

}  // namespace states::files
